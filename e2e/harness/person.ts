import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createApiClient, type ApiClient } from './api.ts'
import type { RealServer, ServerLocation } from './server.ts'

const admin = fileURLToPath(new URL('../../server/src/main-admin.ts', import.meta.url))

/** A user in a browser: signed in by cookie, on a page of the server's origin. */
export type Person = ApiClient & { readonly cookie: string; readonly password: string }

/** Creates another owner of the organization, as the operator does, and signs in. */
export async function signInOwner(
  { api, dataDir }: Pick<RealServer, 'api' | 'dataDir'>,
  name: string,
): Promise<Person> {
  const { organization } = await api.ok('GET', '/v1/auth/me')
  const membership = { id: organization.id, role: 'owner' }
  return signIn({ baseUrl: api.baseUrl, dataDir }, { name, organization: membership })
}

/** Creates a user, as the operator does, in the organization or in a personal one, and signs in. */
export async function signIn(
  { baseUrl, dataDir }: ServerLocation,
  user: {
    readonly name: string
    readonly organization: { readonly id: string; readonly role: string } | null
  },
): Promise<Person> {
  const email = `${user.name.toLowerCase()}-${process.pid}@example.com`
  const { password } = await runAdmin<{ password: string }>(dataDir, {
    command: 'user create',
    email,
    isPasswordOnStdin: false,
    ...user,
  })
  const login = await createApiClient(baseUrl, '', {}).call('POST', '/v1/auth/login', {
    email,
    password,
  })
  if (login.status !== 200) throw new Error(`login: ${login.status} ${login.bytes.toString()}`)
  const cookie = login.headers['set-cookie']![0]!.split(';')[0]!
  return { ...createApiClient(baseUrl, '', { cookie, origin: baseUrl }), cookie, password }
}

/** Runs `computer admin …` and resolves to its JSON output. */
export async function runAdmin<T>(
  dataDir: string,
  request: { readonly command: string } & Readonly<Record<string, unknown>>,
): Promise<T> {
  const env = { ...process.env, COMPUTER_DATA: dataDir }
  const args = [admin, JSON.stringify(request), '--json']
  const { stdout } = await promisify(execFile)(process.execPath, args, { env })
  return JSON.parse(stdout) as T
}
