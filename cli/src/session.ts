import { ApiError, Computer } from '@computer/sdk'

/*
 * A person signs in as a browser does: the server answers with a session in a cookie, and requires the Origin
 * of its own pages with everything that the session changes.
 */
const cookieName = 'computer_session'

/** Sends the cookie of a session with every request, as the browser does. */
export function fetchWithSession(baseUrl: string, session: string): typeof fetch {
  const own = { cookie: `${cookieName}=${session}`, origin: new URL(baseUrl).origin }
  return (url, { headers, ...rest } = {}) => {
    const all = { ...Object.fromEntries(new Headers(headers)), ...own }
    return globalThis.fetch(url, { ...rest, headers: all })
  }
}

/** Signs a person in and returns the token of the new session. */
export async function openSession(
  baseUrl: string,
  credentials: { readonly email: string; readonly password: string },
): Promise<string> {
  const cookies: string[] = []
  const fetch = async (...request: Parameters<typeof globalThis.fetch>) => {
    const response = await globalThis.fetch(...request)
    cookies.push(...response.headers.getSetCookie())
    return response
  }
  await new Computer({ apiKey: '', baseUrl, fetch, WebSocket: null }).auth.logIn(credentials)
  const prefix = `${cookieName}=`
  const cookie = cookies.find((one) => one.startsWith(prefix))
  const session = cookie?.slice(prefix.length).split(';')[0]
  if (session) return session
  throw new ApiError('connection_failed', `${baseUrl} did not answer with a session`)
}
