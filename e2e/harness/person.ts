import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createApiClient, type ApiClient } from './api.ts'
import type { RealServer, ServerLocation } from './server.ts'

const admin = fileURLToPath(new URL('../../server/src/main-admin.ts', import.meta.url))

/** Somebody in a browser: signed in by the cookie, on a page of the service. */
export type Person = ApiClient & { readonly cookie: string }

/** A new owner of the server's organization, made by its operator and signed in. */
export async function signInOwner(
  { api, dataDir }: Pick<RealServer, 'api' | 'dataDir'>,
  name: string,
): Promise<Person> {
  const { organization } = await api.ok('GET', '/v1/auth/me')
  const place = { id: organization.id, role: 'owner' }
  return signIn({ baseUrl: api.baseUrl, dataDir }, { name, organization: place })
}

/** A new user, made by the operator and signed in. Acts in the organization, or in a personal one. */
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
  const answer = await fetch(`${baseUrl}/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  if (!answer.ok) throw new Error(`login: ${answer.status} ${await answer.text()}`)
  const cookie = answer.headers.getSetCookie()[0]!.split(';')[0]!
  return { ...createApiClient(baseUrl, '', { cookie, origin: baseUrl }), cookie }
}

/** Runs a command of the operator, `computer admin …`, and answers what it prints as JSON. */
export async function runAdmin<T>(
  dataDir: string,
  request: { readonly command: string } & Readonly<Record<string, unknown>>,
): Promise<T> {
  const env = { ...process.env, COMPUTER_DATA: dataDir }
  const args = [admin, JSON.stringify(request), '--json']
  const { stdout } = await promisify(execFile)(process.execPath, args, { env })
  return JSON.parse(stdout) as T
}
