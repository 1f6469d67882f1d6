#include "textflag.h"

// func handlerAddress() uintptr
TEXT ·handlerAddress(SB),NOSPLIT,$0-8
	MOVD	$handler<>(SB), R0
	MOVD	R0, ret+0(FP)
	RET

// C calling convention: R0 has the signal, R1 *siginfo_t, R2 *ucontext_t; the return address, R30, is the restorer's.
TEXT handler<>(SB),NOSPLIT|NOFRAME,$0
	MOVW	8(R1), R3	// si_code
	CMPW	$0, R3
	BLE	sent
	MOVD	·faults(SB), R3
	LSR	R0, R3, R3
	TBZ	$0, R3, sent
	MOVD	·goHandler(SB), R3
	JMP	(R3)
sent:
	MOVD	·writing(SB), R3
	LSR	R0, R3, R3
	TBZ	$0, R3, others
	MOVW	16(R1), R3	// si_pid
	MOVW	·self(SB), R4
	CMPW	R4, R3
	BEQ	done
others:
	CMPW	$17, R0	// SIGCHLD
	BNE	tell
	MOVD	$·childTold(SB), R3
	MOVW	$1, R4
swap:
	LDAXRW	(R3), R5
	STLXRW	R4, (R3), R6
	CBNZW	R6, swap
	CBNZW	R5, done
tell:
	MOVD	R0, R9
	MOVD	$64, R8	// write(pipe, siginfo, 24)
	MOVW	·pipe(SB), R0
	MOVD	$24, R2
	SVC
	TBZ	$63, R0, done
	MOVD	$1, R4
	LSL	R9, R4, R4	// by R9 modulo 64
	MOVD	$·untold(SB), R3
note:
	LDAXR	(R3), R5
	ORR	R4, R5, R5
	STLXR	R5, (R3), R6
	CBNZW	R6, note
	MOVW	·pipe(SB), R0	// write(pipe, nothing, 24)
	MOVD	$·nothing(SB), R1
	SVC
done:
	RET
