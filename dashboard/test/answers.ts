import type { Page } from 'playwright-core'

export type Answer = { readonly status: number; readonly json: unknown }

/**
 * Lets a page see other answers of the API than the server gave. `change` gets every answer with JSON;
 * `replace` is asked first, and an answer of it keeps the request from the server.
 *
 * Routes of Playwright stop every request of a page, the forty for its scripts included, and turn the cache
 * of the browser off, so a page takes twice as long. This stops calls of the API alone.
 */
export async function changeAnswers(
  page: Page,
  {
    change = (_path, answer) => answer,
    replace = () => undefined,
  }: {
    readonly change?: (path: string, answer: Answer) => Answer
    readonly replace?: (path: string) => Answer | undefined
  },
): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const fulfill = (requestId: string, { status, json }: Answer, headers: Headers) =>
    session.send('Fetch.fulfillRequest', {
      requestId,
      responseCode: status,
      responseHeaders: [
        ...headers.filter(({ name }) => !/^content-(type|length|encoding)$/i.test(name)),
        { name: 'content-type', value: 'application/json; charset=utf-8' },
      ],
      body: Buffer.from(JSON.stringify(json)).toString('base64'),
    })
  /** A page that has moved on waits for no answer, and the browser has forgotten its request. */
  const unlessGone = <T>(sent: Promise<T>) => sent.catch(() => undefined)
  const proceed = async (event: Paused) => {
    const { requestId, request, responseStatusCode: status, responseHeaders = [] } = event
    const path = new URL(request.url).pathname
    const instead = status === undefined ? replace(path) : undefined
    if (instead) return unlessGone(fulfill(requestId, instead, []))
    if (status === undefined || !isJson(responseHeaders))
      return unlessGone(session.send('Fetch.continueRequest', { requestId }))
    const read = await unlessGone(session.send('Fetch.getResponseBody', { requestId }))
    if (!read) return
    const text = Buffer.from(read.body, read.base64Encoded ? 'base64' : 'utf8').toString()
    const answer = change(path, { status, json: JSON.parse(text) })
    return unlessGone(fulfill(requestId, answer, responseHeaders))
  }
  session.on('Fetch.requestPaused', (event) => void proceed(event))
  const urlPattern = '*/v1/*'
  const stages = ['Request', 'Response'] as const
  await session.send('Fetch.enable', {
    patterns: stages.map((requestStage) => ({ urlPattern, requestStage })),
  })
}

type Paused = {
  readonly requestId: string
  readonly request: { readonly url: string }
  /** Only when the server has answered. */
  readonly responseStatusCode?: number
  readonly responseHeaders?: Headers
}
type Headers = readonly { readonly name: string; readonly value: string }[]

function isJson(headers: Headers): boolean {
  return headers.some(
    ({ name, value }) =>
      name.toLowerCase() === 'content-type' && value.startsWith('application/json'),
  )
}
