#include "textflag.h"

// func handlerAddress() uintptr
TEXT ·handlerAddress(SB),NOSPLIT,$0-8
	LEAQ	handler<>(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// C calling convention: DI has the signal, SI *siginfo_t, DX *ucontext_t; the return address is the restorer's.
TEXT handler<>(SB),NOSPLIT|NOFRAME,$0
	CMPL	8(SI), $0	// si_code
	JLE	sent
	MOVQ	·faults(SB), AX
	BTQ	DI, AX
	JCC	sent
	MOVQ	·goHandler(SB), AX
	JMP	AX
sent:
	MOVQ	·writing(SB), AX
	BTQ	DI, AX
	JCC	others
	MOVL	16(SI), AX	// si_pid
	CMPL	AX, ·self(SB)
	JEQ	done
others:
	CMPL	DI, $17	// SIGCHLD
	JNE	tell
	MOVL	$1, AX
	XCHGL	AX, ·childTold(SB)
	TESTL	AX, AX
	JNE	done
tell:
	MOVL	DI, R8
	MOVL	$1, AX	// write(pipe, siginfo, 24)
	MOVL	·pipe(SB), DI
	MOVL	$24, DX
	SYSCALL	// changes CX and R11
	TESTQ	AX, AX
	JGE	done
	ANDL	$63, R8
	LOCK
	BTSQ	R8, ·untold(SB)
	MOVL	$1, AX	// write(pipe, nothing, 24)
	LEAQ	·nothing(SB), SI
	SYSCALL
done:
	RET
