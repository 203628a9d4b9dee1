import type { HelpBrief, HelpPerson, HelpRequest } from '@computer/sdk'
import type { Columns } from '../../output.ts'
import { formatAge } from '../../text.ts'

export const helpColumns: Columns<HelpRequest> = {
  id: ({ id }) => id,
  machine: ({ machineId }) => machineId,
  reason: ({ reason }) => reason,
  state: ({ state }) => state,
  message: ({ message }) => shorten(message),
  'asked by': ({ requestedBy }) => requestedBy.name,
  asked: ({ createdAt }) => formatAge(createdAt),
}

/** How it ended. */
export const outcomeLines: Columns<HelpRequest> = {
  state: ({ state }) => state,
  choice: ({ answer }) => answer?.choice ?? null,
  text: ({ answer }) => answer?.text ?? null,
  by: ({ answer }) => nameOf(answer?.by ?? null),
  'windows opened': ({ brief }) => brief && titles(brief.windowsOpened),
  'windows closed': ({ brief }) => brief && titles(brief.windowsClosed),
  'files changed': ({ brief }) => brief && files(brief),
  'clipboard changed': ({ brief }) => brief && (brief.clipboardChanged ? 'yes' : 'no'),
}

export const helpLines: Columns<HelpRequest> = {
  id: ({ id }) => id,
  machine: ({ machineId }) => machineId,
  reason: ({ reason }) => reason,
  message: ({ message }) => message,
  choices: ({ choices }) => choices?.join(', ') ?? null,
  private: (request) => (request.private ? 'yes' : 'no'),
  assignee: ({ assignee }) => assignee?.name ?? null,
  'asked by': ({ requestedBy }) => nameOf(requestedBy),
  asked: ({ createdAt }) => createdAt,
  expires: ({ expiresAt }) => expiresAt,
  'taken by': ({ takenBy }) => nameOf(takenBy),
  ended: ({ endedAt }) => endedAt,
  ...outcomeLines,
}

function nameOf(person: HelpPerson | null): string | null {
  return person && `${person.name} (${person.type.replace('_', ' ')})`
}

function titles(windows: HelpBrief['windowsOpened']): string {
  return windows.map(({ title, program }) => title || program).join(', ')
}

function files({ filesChanged, hasMoreFiles }: HelpBrief): string {
  const paths = filesChanged.map(({ path }) => path)
  return [...paths, ...(hasMoreFiles ? ['and more'] : [])].join(', ')
}

function shorten(text: string): string {
  return text.length <= 50 ? text : `${text.slice(0, 49).trimEnd()}…`
}
