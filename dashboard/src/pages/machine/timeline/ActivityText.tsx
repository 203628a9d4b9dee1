import type { Activity } from '@computer/sdk'
import type { ReactNode } from 'react'
import { formatCount, formatNumber } from '../../../format.ts'
import { reasonText } from '../../help/help-words.ts'
import { visibleName } from '../files/paths.ts'
import { isKnownActivity, type ActivityType } from './activity-types.ts'
import { countScreenInput } from './input-words.ts'
import { countIn, shortText } from './strange-text.ts'

type Data = Activity['data']

/** A sentence says who did what. The data is a stranger's: it is shown as text, cut to what a row holds. */
export function ActivityText({ activity }: { readonly activity: Activity }) {
  const { type, actor, data } = activity
  return (
    <>
      <Actor actor={actor} />{' '}
      {isKnownActivity(type) ? (
        sentences[type](data)
      ) : (
        <>
          <Strange text={type} /> {Object.keys(data).length > 0 && <Strange text={data} />}
        </>
      )}
      {data['outcome'] === 'unknown' && (
        <span className="text-warn"> – it broke off, and may have had an effect</span>
      )}
    </>
  )
}

export function Actor({ actor }: Pick<Activity, 'actor'>) {
  if (actor === null) return <span className="font-medium">Somebody</span>
  return (
    <>
      <bdi className="font-medium">{shortText(actor.name)}</bdi>
      {actor.type === 'guest' && ' (guest)'}
    </>
  )
}

const sentences: Readonly<Record<ActivityType, (data: Data) => ReactNode>> = {
  'mouse.moved': (data) => `moved the mouse to ${point(data)}`,
  'mouse.clicked': ({ at, button, count, down, up }) => (
    <>
      {down === true ? 'pressed the button' : up === true ? 'released the button' : clicks(count)}
      {at !== undefined && ` at ${point(at)}`}
      {button !== 'left' && (
        <>
          {' '}
          (<bdi>{shortText(button)}</bdi>)
        </>
      )}
    </>
  ),
  'mouse.dragged': ({ from, to }) =>
    `dragged${from === undefined ? '' : ` from ${point(from)}`} to ${point(to)}`,
  'mouse.scrolled': ({ direction, amount, at }) => (
    <>
      scrolled <bdi>{shortText(direction)}</bdi> by {formatNumber(countIn(amount))}
      {at !== undefined && ` at ${point(at)}`}
    </>
  ),
  'keyboard.typed': (data) => `typed ${characters(data)}`,
  'keyboard.pressed': ({ keys }) =>
    keys === '(character)' ? (
      'pressed a character key'
    ) : (
      <>
        pressed <Strange text={keys} />
      </>
    ),
  'clipboard.written': (data) => `put ${characters(data)} on the clipboard`,
  'display.resized': ({ width, height }) =>
    `resized the display to ${countIn(width)} × ${countIn(height)}`,
  'viewer.input': (data) => `on the live screen: ${countScreenInput([{ data }])}`,
  'control.taken': () => 'took over control',
  'command.run': (data) => <>ran {command(data)}</>,
  'process.started': (data) => <>started {command(data)}</>,
  'process.written': ({ processId }) => (
    <>
      wrote to the process <Strange text={processId} />
    </>
  ),
  'process.signalled': ({ signal, processId }) => (
    <>
      sent <Strange text={signal} /> to the process <Strange text={processId} />
    </>
  ),
  'terminal.opened': ({ user }) => (
    <>
      opened a terminal as <Strange text={user} />
    </>
  ),
  'terminal.killed': ({ terminalId }) => (
    <>
      ended the terminal <Strange text={terminalId} />
    </>
  ),
  'file.written': ({ path }) => (
    <>
      wrote <Path path={path} />
    </>
  ),
  'archive.written': ({ path }) => (
    <>
      unpacked an archive in <Path path={path} />
    </>
  ),
  'file.deleted': ({ path }) => (
    <>
      deleted <Path path={path} />
    </>
  ),
  'file.moved': ({ from, to }) => (
    <>
      moved <Path path={from} /> to <Path path={to} />
    </>
  ),
  'port.published': ({ port, access }) => (
    <>
      published port {countIn(port)} (<bdi>{shortText(access)}</bdi>)
    </>
  ),
  'port.unpublished': ({ previewId }) => (
    <>
      unpublished the preview <Strange text={previewId} />
    </>
  ),
  'secret.stored': ({ name }) => (
    <>
      stored the secret <Strange text={name} />
    </>
  ),
  'secret.deleted': ({ name }) => (
    <>
      deleted the secret <Strange text={name} />
    </>
  ),
  'help.requested': ({ reason, message }) => (
    <>
      asked for help, {helpReason(reason)}: <Strange text={message} />
    </>
  ),
  'help.taken': ({ reason }) => <>took over to help, {helpReason(reason)}</>,
  'help.released': ({ reason }) => <>left the help request open, {helpReason(reason)}</>,
  'help.answered': ({ reason, outcome }) =>
    outcome === 'declined' ? (
      <>declined the help request, {helpReason(reason)}</>
    ) : (
      <>answered the help request, {helpReason(reason)}</>
    ),
  'help.cancelled': ({ reason }) => <>cancelled the help request, {helpReason(reason)}</>,
  'help.expired': ({ reason }) => <>let the help request expire, {helpReason(reason)}</>,
  'help.link_created': () => 'made a takeover link of the help request',
  'help.link_opened': () => 'opened the takeover link of the help request',
}

/** A text that is not the dashboard's own. */
function Strange({ text }: { readonly text: unknown }) {
  return (
    <bdi>
      <code className="rounded bg-sunken px-1 py-px text-[13px] wrap-anywhere">
        {shortText(text)}
      </code>
    </bdi>
  )
}

function Path({ path }: { readonly path: unknown }) {
  return <Strange text={typeof path === 'string' ? visibleName(path) : path} />
}

/** Such as "a sign-in". */
function helpReason(reason: unknown): ReactNode {
  const text = shortText(reason)
  const words = reasonText(text)
  return words === text ? <Strange text={text} /> : words[0]!.toLowerCase() + words.slice(1)
}

function command({ command: line, user }: Data) {
  return (
    <>
      <Strange text={line} />
      {user !== undefined && (
        <>
          {' as '}
          <bdi>{shortText(user)}</bdi>
        </>
      )}
    </>
  )
}

function clicks(count: unknown): string {
  if (count === 2) return 'double-clicked'
  return count === 3 ? 'triple-clicked' : 'clicked'
}

function point(value: unknown): string {
  const { x, y } = (value ?? {}) as { readonly x?: unknown; readonly y?: unknown }
  return `${countIn(x)}, ${countIn(y)}`
}

function characters({ characters: count }: Data): string {
  return formatCount(countIn(count), 'character')
}
