import { ApiKeyScope } from '@computer/contract'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keepServerLogs } from './logs.ts'
import { eventually } from './polling.ts'
import { runAdmin, signIn } from './person.ts'
import {
  describeServer,
  startRealServer,
  type RealServer,
  type ServerLocation,
  type ServerOptions,
} from './server.ts'

/** The options of all servers that test files share. Files that test the pool start one of their own. */
export const sharedServerOptions: ServerOptions = { previewDomain: 'localhost', warmMachines: 0 }

/**
 * The server of this runner of `npm test` (COMPUTER_TEST_SERVER), with a new organization, owner and API
 * key for the calling file; its disposal deletes the machines of that organization. The files of a runner
 * run one after the other, so a file may kill services. A file that is run alone gets its own server.
 */
export async function joinServer(): Promise<RealServer> {
  const shared = process.env['COMPUTER_TEST_SERVER']
  if (shared === undefined) return startRealServer(sharedServerOptions)

  const location = JSON.parse(shared) as ServerLocation
  const key = await createOrganization(location)
  const keyFolder = await mkdtemp(join(tmpdir(), 'computer-key-'))
  await writeFile(join(keyFolder, 'owner.key'), key)
  // The guides trust the authority of the data folder, and act as the operator on its database.
  for (const name of ['previews', 'postgres', 'run'])
    await symlink(join(location.dataDir, name), join(keyFolder, name))
  return describeServer(location, { key, keyFolder }, async ({ computer, api }) => {
    await rm(keyFolder, { recursive: true })
    // The engine deletes a machine's logs with it.
    await keepServerLogs(location.dataDir)
    for await (const { id } of computer.machines.list())
      await api.ok('DELETE', `/v1/machines/${id}`)
    await eventually('the machines of the file are gone', async () => {
      const { data } = await api.ok('GET', '/v1/machines')
      return data.length === 0
    })
  })
}

/** Resolves to the API key of the owner of a new organization with the first organization's plan. */
async function createOrganization(location: ServerLocation): Promise<string> {
  const name = `file-${process.pid}`
  const person = await signIn(location, { name, organization: null })
  const { organization } = await person.ok('GET', '/v1/auth/me')
  await runAdmin(location.dataDir, {
    command: 'org set-plan',
    organizationId: organization.id,
    planId: 'startup',
    limits: {},
  })
  const { secret } = await person.ok('POST', '/v1/api-keys', { name, scopes: ApiKeyScope.options })
  return secret as string
}
