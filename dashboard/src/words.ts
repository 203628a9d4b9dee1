import type {
  MachineEventType,
  MachineState,
  Permission,
  Quota,
  SnapshotOrigin,
} from '@computer/sdk'

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
  'api_keys:manage': 'manage API keys and webhooks',
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

/** What happened to a machine. */
export const eventWords: Readonly<Record<MachineEventType, string>> = {
  'machine.created': 'Created',
  'machine.started': 'Started',
  'machine.ready': 'Desktop is up',
  'machine.stopped': 'Stopped',
  'machine.failed': 'Failed',
  'machine.updated': 'Changed',
  'machine.deleted': 'Deleted',
  'session.connected': 'Session connected',
  'session.control_acquired': 'Took control',
  'session.control_released': 'Gave up control',
  'session.disconnected': 'Session disconnected',
  'snapshot.started': 'Snapshot started',
  'snapshot.completed': 'Snapshot taken',
  'snapshot.failed': 'Snapshot failed',
  'snapshot.deleted': 'Snapshot deleted',
  'machine.restore_started': 'Restore started',
  'machine.restore_completed': 'Restored',
  'machine.restore_failed': 'Restore failed',
  'host.unhealthy': 'Host unhealthy',
}

/** Why a snapshot exists. */
export const originWords: Readonly<Record<SnapshotOrigin, string>> = {
  manual: 'Taken by request',
  stop: 'Taken when it stopped',
  template: 'Taken for a template',
}
