/** A request that is refused, with its HTTP status. */
export class HttpError extends Error {
  override name = 'HttpError'
  readonly status: 400 | 401 | 403 | 404 | 405 | 413 | 502 | 503

  constructor(status: HttpError['status'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}
