import type { MachineState, Permission, Quota } from '@computer/sdk'

/** What each permission allows, after "may". */
export const permissionMeanings: Readonly<Record<Permission, string>> = {
  'machines:create': 'create or fork machines',
  'machines:control': 'start, stop, drive or change machines',
  'machines:delete': 'delete machines',
  'snapshots:write': 'take snapshots',
  'snapshots:delete': 'delete snapshots',
  'templates:write': 'make and delete templates',
  'ports:write': 'publish ports',
  'secrets:write': 'store and delete secrets',
  'members:manage': 'invite, change and remove members',
  'api_keys:manage': 'create and revoke API keys',
  'billing:manage': 'change the plan and the billing',
}

export const stateWords: Readonly<Record<MachineState, string>> = {
  creating: 'Creating',
  running: 'Running',
  stopping: 'Stopping',
  stopped: 'Stopped',
  starting: 'Starting',
  error: 'Error',
  deleting: 'Deleting',
}

/** The limits of a plan, as a plural. */
export const quotaWords: Readonly<Record<Quota['limit'], string>> = {
  running_machines: 'running machines',
  machines: 'machines',
  templates: 'templates',
  members: 'members',
  concurrent_sessions: 'concurrent sessions',
  snapshots_per_machine: 'snapshots per machine',
}
