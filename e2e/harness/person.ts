import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createApiClient, type ApiClient } from './api.ts'
import type { RealServer } from './server.ts'

const admin = fileURLToPath(new URL('../../server/src/main-admin.ts', import.meta.url))

/** Somebody in a browser: signed in by the cookie, on a page of the service. */
export type Person = ApiClient & { readonly cookie: string }

/** A new owner of the server's organization, made by its operator and signed in. */
export async function signInOwner(
  { api, dataDir }: Pick<RealServer, 'api' | 'dataDir'>,
  name: string,
): Promise<Person> {
  const email = `${name.toLowerCase()}@example.com`
  const { organization } = await api.ok('GET', '/v1/auth/me')
  const place = { id: organization.id, role: 'owner' }
  const wish = { email, name, organization: place, isPasswordOnStdin: false }
  const request = JSON.stringify({ command: 'user create', ...wish })
  const env = { ...process.env, COMPUTER_DATA: dataDir }
  const { stdout } = await promisify(execFile)(process.execPath, [admin, request, '--json'], {
    env,
  })
  const { password } = JSON.parse(stdout) as { password: string }

  const answer = await fetch(`${api.baseUrl}/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  if (!answer.ok) throw new Error(`login: ${answer.status} ${await answer.text()}`)
  const cookie = answer.headers.getSetCookie()[0]!.split(';')[0]!
  return { ...createApiClient(api.baseUrl, '', { cookie, origin: api.baseUrl }), cookie }
}
