import type { Activity } from '@computer/sdk'

/** The types of activity that the dashboard knows, with their names in the filter. Servers may know more. */
export const activityWords = {
  'mouse.moved': 'Mouse moved',
  'mouse.clicked': 'Clicked',
  'mouse.dragged': 'Dragged',
  'mouse.scrolled': 'Scrolled',
  'keyboard.typed': 'Text typed',
  'keyboard.pressed': 'Keys pressed',
  'clipboard.written': 'Clipboard written',
  'display.resized': 'Display resized',
  'viewer.input': 'Input on the live screen',
  'control.taken': 'Control taken over',
  'command.run': 'Command run',
  'process.started': 'Process started',
  'process.written': 'Input of a process',
  'process.signalled': 'Signal to a process',
  'terminal.opened': 'Terminal opened',
  'terminal.killed': 'Terminal ended',
  'file.written': 'File written',
  'archive.written': 'Archive unpacked',
  'file.deleted': 'File deleted',
  'file.moved': 'File moved',
  'port.published': 'Port published',
  'port.unpublished': 'Port unpublished',
  'secret.stored': 'Secret stored',
  'secret.deleted': 'Secret deleted',
} as const

export type ActivityType = keyof typeof activityWords

export const activityTypes = Object.keys(activityWords) as readonly ActivityType[]

export function isKnownActivity(type: string): type is ActivityType {
  return Object.hasOwn(activityWords, type)
}

const actorKinds: Readonly<Record<NonNullable<Activity['actor']>['type'], string>> = {
  user: '',
  api_key: 'API key',
  guest: 'guest',
  system: 'the server',
}

/** The kind of an actor that is no user. */
export function actorKind(actor: Activity['actor']): string {
  return actor === null ? '' : (actorKinds[actor.type] ?? actor.type)
}
