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
  'help.requested': 'Help requested',
  'help.taken': 'Help request taken',
  'help.released': 'Help request left open',
  'help.answered': 'Help request answered',
  'help.cancelled': 'Help request cancelled',
  'help.expired': 'Help request expired',
  'help.link_created': 'Takeover link made',
  'help.link_opened': 'Takeover link opened',
} as const

export type ActivityType = keyof typeof activityWords

export const activityTypes = Object.keys(activityWords) as readonly ActivityType[]

export function isKnownActivity(type: string): type is ActivityType {
  return Object.hasOwn(activityWords, type)
}

const actorKinds: Readonly<Record<NonNullable<Activity['actor']>['type'], string>> = {
  user: '',
  api_key: 'API key',
  // It stands after the name.
  guest: '',
  system: 'the server',
}

/** The kind of an actor that its name does not tell. */
export function actorKind(actor: Activity['actor']): string {
  return actor === null ? '' : (actorKinds[actor.type] ?? actor.type)
}
