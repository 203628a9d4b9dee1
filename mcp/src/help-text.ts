import type { HelpBrief, HelpRequest, Machine } from '@computer/sdk'
import { formatBytes, shorten } from './text.ts'

/* What a model is told about help requests. */

const maxLines = 10
const maxTitle = 100
const wait = 'Call check_help with wait_seconds 55, and again until the request has ended.'

/** A request that was just made. */
export function describeAsked({ name }: Pick<Machine, 'name'>, request: HelpRequest): string {
  const { id, takeoverUrl, expiresAt } = request
  return [
    `A person is asked for help on ${name}: request ${id}, until ${expiresAt}.`,
    'Members of the organization see it in the dashboard. Your user can also take the screen with this ' +
      `link, which works once and opens this screen only: ${takeoverUrl}`,
    `Give the link to your user and to nobody else. ${wait} Leave the screen alone meanwhile: ` +
      `${restrictions(request)} while the person has it.`,
  ].join('\n')
}

export function describeState(request: HelpRequest): string {
  const { id, state } = request
  switch (state) {
    case 'open':
      return `Request ${id} is open: nobody has taken it yet. ${wait}`
    case 'active':
      return `Request ${id} is active: ${explainActive(request)}`
    case 'cancelled':
      return describeEnd(request, [
        `Request ${id} was cancelled. Ask your user before you ask again.`,
      ])
    case 'expired':
      return describeEnd(request, [`Request ${id} has expired without an answer. Tell your user.`])
    default:
      return describeEnd(request, describeAnswer(request))
  }
}

function describeEnd({ takenBy }: HelpRequest, lines: readonly string[]): string {
  const look = 'The screen may have changed: take a screenshot before you do anything on it.'
  return [...lines, ...(takenBy ? [look] : [])].join('\n')
}

function describeAnswer({ id, state, answer, brief }: HelpRequest): string[] {
  const { by, choice, text } = answer!
  const verdict = state === 'done' ? 'it is done' : 'they will not do it'
  return [
    `${by.name} answered request ${id}: ${verdict}.`,
    ...(choice === null ? [] : [`They chose: ${choice}`]),
    ...(text ? [`They say: ${text}`] : []),
    ...(brief ? describeBrief(brief) : []),
  ]
}

/** Why a machine refuses what the model does, while a person has it. */
export function explainActive(request: HelpRequest): string {
  const { takenBy } = request
  return `A person (${takenBy!.name}) has the screen, and ${restrictions(request)}. ${wait}`
}

function restrictions(request: HelpRequest): string {
  return request.private
    ? 'you can neither see the screen, read the clipboard, type nor click'
    : 'you can neither type nor click'
}

function describeBrief(brief: HelpBrief): string[] {
  const { windowsOpened, windowsClosed, filesChanged, hasMoreFiles, clipboardChanged } = brief
  const files = filesChanged.map(({ path, size }) => `${path} (${formatBytes(size)})`)
  return [
    ...listed('Windows opened', windowsOpened.map(nameOf)),
    ...listed('Windows closed', windowsClosed.map(nameOf)),
    ...listed('Files changed', files, hasMoreFiles),
    ...(clipboardChanged ? ['The clipboard has changed.'] : []),
    ...(brief.isComplete ? [] : ['More may have changed: the machine did not answer.']),
  ]
}

function listed(title: string, items: readonly string[], hasMore = false): string[] {
  if (items.length === 0) return []
  const shown = items.slice(0, maxLines)
  const more = hasMore || items.length > maxLines ? [', and more'] : []
  return [`${title}: ${shown.join(', ')}${more.join('')}`]
}

function nameOf({ title, program }: HelpBrief['windowsOpened'][number]): string {
  return `${JSON.stringify(shorten(title, maxTitle))} (${program})`
}
