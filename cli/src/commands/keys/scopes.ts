import { Option } from '@commander-js/extra-typings'
import type { ApiKeyScope } from '@computer/sdk'

/** The changes that each scope allows a key to make. Any key may read. */
const scopes: Readonly<Record<ApiKeyScope, string>> = {
  'machines:read': 'reading',
  'machines:write': 'creating and deleting machines',
  'machines:control': 'starting, stopping and using machines',
  'snapshots:read': 'reading',
  'snapshots:write': 'taking and deleting snapshots',
  'templates:read': 'reading',
  'templates:write': 'creating and deleting templates',
  'sessions:read': 'reading',
  'sessions:write': 'opening and closing sessions',
  'ports:read': 'reading',
  'ports:write': 'publishing ports',
  'secrets:write': 'storing and deleting secrets',
  'usage:read': 'reading',
}
export const allScopes = Object.keys(scopes) as ApiKeyScope[]

export const scopeFlag = () =>
  new Option('--scope <scope...>', 'what the key may change (default: all)').choices(allScopes)

export const scopesHelp = `
Any key can read everything in its organization; the scopes allow changes:
${Object.entries(scopes)
  .filter(([, grants]) => grants !== 'reading')
  .map(([scope, grants]) => `  ${scope.padEnd(17)} ${grants}`)
  .join('\n')}
For a key that changes nothing, choose machines:read.`
