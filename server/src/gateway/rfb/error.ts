/** The client violated the protocol. The connection must be closed. */
export class RfbError extends Error {
  override name = 'RfbError'
  /** A message was over a limit. */
  readonly isTooLarge: boolean

  constructor(message: string, options: ErrorOptions & { readonly isTooLarge?: boolean } = {}) {
    super(message, options)
    this.isTooLarge = options.isTooLarge ?? false
  }
}
