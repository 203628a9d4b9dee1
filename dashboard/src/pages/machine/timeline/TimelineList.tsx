import { useState } from 'react'
import { Button } from '../../../ui/Button.tsx'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { ActivityRow } from './ActivityRow.tsx'
import { EventRow } from './EventRow.tsx'
import { rowsOf, type Row } from './rows.ts'
import { RunRow } from './RunRow.tsx'
import type { LoadedTimeline } from './use-timeline.ts'

/** The timeline, newest first, as far back as it is loaded. */
export function TimelineList({
  timeline: { entries, openers, loadOlder },
}: {
  readonly timeline: LoadedTimeline
}) {
  return (
    <>
      <ol
        aria-label="Timeline, newest first"
        className="divide-y divide-line rounded-lg border border-line bg-raised"
      >
        <Rows rows={rowsOf(entries)} openers={openers} />
      </ol>
      <Older load={loadOlder} />
    </>
  )
}

function Rows({
  rows,
  openers,
}: {
  readonly rows: readonly Row[]
  readonly openers: LoadedTimeline['openers']
}) {
  /** An input of each open run: runs grow at both ends. */
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  return rows.map((row) => {
    if (row.kind === 'event')
      return <EventRow key={row.event.id} event={row.event} openers={openers} />
    if (row.kind === 'activity') return <ActivityRow key={row.activity.id} {...row} />
    const ids = row.inputs.map(({ id }) => id)
    const isOpen = ids.some((id) => opened.has(id))
    const oldest = ids.at(-1)!
    const toggle = () =>
      setOpened((before) => {
        const others = [...before].filter((id) => !ids.includes(id))
        return new Set(isOpen ? others : [...others, oldest])
      })
    // New inputs of the run leave the focus on its button.
    return <RunRow key={oldest} inputs={row.inputs} isOpen={isOpen} onToggle={toggle} />
  })
}

function Older({ load }: { readonly load: LoadedTimeline['loadOlder'] }) {
  const [isLoading, setLoading] = useState(false)
  const [error, setError] = useState<unknown>()
  if (load === null)
    return <p className="mt-3 text-center text-xs text-muted">This is the beginning of the log.</p>
  const press = async () => {
    setLoading(true)
    try {
      await load()
      setError(undefined)
    } catch (caught) {
      setError(caught)
    } finally {
      setLoading(false)
    }
  }
  return (
    <>
      {error !== undefined && (
        <div className="mt-3">
          <ErrorNotice error={error} title="Older entries could not be loaded." />
        </div>
      )}
      <div className="mt-3 text-center">
        <Button busy={isLoading} onClick={() => void press()}>
          Load older
        </Button>
      </div>
    </>
  )
}
