/** A program that the supervisor starts in the foreground and ends by a signal. */
export type Command = {
  readonly argv: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** What makes it end cleanly. SIGTERM unless said. */
  readonly stopSignal?: NodeJS.Signals
}
