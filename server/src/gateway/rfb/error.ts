/** What a client sent is not RFB as it was offered. Its connection is of no more use. */
export class RfbError extends Error {
  override name = 'RfbError'
  /** It may be well formed, but is more than is taken. */
  readonly isTooLarge: boolean

  constructor(message: string, options: ErrorOptions & { readonly isTooLarge?: boolean } = {}) {
    super(message, options)
    this.isTooLarge = options.isTooLarge ?? false
  }
}
