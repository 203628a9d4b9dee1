/** Why a request over HTTP is not served. */
export class HttpRefusal extends Error {
  override name = 'HttpRefusal'
  readonly status: 400 | 401 | 403 | 404 | 405 | 413 | 502 | 503

  constructor(status: HttpRefusal['status'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}
