// Bench measures what garm-entrypoint costs: as an init beside tini, dumb-init and catatonit, and as the entrypoint of
// garm beside garm alone. What is compared is measured in the same run, turn by turn, so that a busy machine troubles
// all sides alike. It prints tables that are Markdown too, with the target beside each figure. Run it with "make
// bench".
package main
