import { machineEventTypes } from '@computer/sdk/tables'

/** The types that a webhook can be limited to. The server accepts others too: new ones may appear. */
export const typeGroups: readonly { readonly title: string; readonly types: readonly string[] }[] =
  [
    { title: 'Machine events', types: machineEventTypes },
    {
      title: 'Activity',
      types: [
        'command.run',
        'process.started',
        'process.written',
        'process.signalled',
        'terminal.opened',
        'terminal.killed',
        'file.written',
        'file.moved',
        'file.deleted',
        'archive.written',
        'mouse.moved',
        'mouse.clicked',
        'mouse.dragged',
        'mouse.scrolled',
        'keyboard.typed',
        'keyboard.pressed',
        'clipboard.written',
        'display.resized',
        'viewer.input',
        'control.taken',
        'port.published',
        'port.unpublished',
        'secret.stored',
        'secret.deleted',
      ],
    },
  ]

const known: ReadonlySet<string> = new Set(typeGroups.flatMap(({ types }) => types))

/** What a person has chosen in the fields for types. */
export type TypeChoice = {
  readonly isAll: boolean
  readonly chosen: readonly string[]
  /** The text of the field for types that this page does not know. */
  readonly other: string
}

export function choiceOf(types: readonly string[] | null): TypeChoice {
  const all = types ?? []
  return {
    isAll: types === null,
    chosen: all.filter((type) => known.has(type)),
    other: all.filter((type) => !known.has(type)).join(' '),
  }
}

/** Null: everything. */
export function typesOf({ isAll, chosen, other }: TypeChoice): readonly string[] | null {
  if (isAll) return null
  const others = other.split(/[\s,]+/).filter((type) => type !== '')
  return [...new Set([...chosen, ...others])]
}
