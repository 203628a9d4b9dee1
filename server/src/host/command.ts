/** A program that the supervisor runs in the foreground and stops with a signal. */
export type Command = {
  readonly argv: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** The signal for a clean exit. Defaults to SIGTERM. */
  readonly stopSignal?: NodeJS.Signals
}
