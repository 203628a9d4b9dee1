import type { Terminal } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { forgetTerminal, killTerminal, terminalsQuery } from '../../../api/terminals.ts'
import { useMachine } from '../use-machine.ts'
import type { TerminalStatus } from './session.ts'

/** A terminal that this page has shown. */
export type Visited = { readonly id: string; readonly isNew: boolean }

export type TerminalEntry = {
  readonly id: string
  readonly title: string
  readonly user: string
  /** Its command has ended or it is gone, so closing it needs no call. */
  readonly isOver: boolean
}

/** More would each hold a connection and thousands of lines. Others attach again when they are shown. */
const maxAttached = 8

/** The terminals of the machine, those that this page has shown, and the one that the address names. */
export function useTerminals() {
  const { record } = useMachine()
  const { terminal: shownId } = useSearch({ from: '/app/m/$machineId/terminal' })
  const query = useQuery(terminalsQuery(record.id, record.state === 'running'))
  const navigate = useNavigate()
  const [visited, setVisited] = useState<readonly Visited[]>([])
  const [titles, setTitles] = useState<Readonly<Record<string, string>>>({})
  const [known, setKnown] = useState<Readonly<Record<string, Terminal>>>({})
  /** Closed here, and in the address until the next one is. */
  const [leaving, setLeaving] = useState<string>()
  const [over, setOver] = useState<ReadonlySet<string>>(new Set())

  const listed = record.state === 'running' ? query.data : undefined
  if (listed?.some(({ id }) => !known[id])) {
    setKnown({ ...known, ...Object.fromEntries(listed.map((one) => [one.id, one])) })
  }
  if (leaving !== undefined && leaving !== shownId) setLeaving(undefined)
  if (shownId !== undefined && shownId !== leaving && visited.at(-1)?.id !== shownId) {
    const before = visited.find(({ id }) => id === shownId) ?? { id: shownId, isNew: false }
    setVisited([...visited.filter((one) => one !== before), before].slice(-maxAttached))
  }

  const ids = new Set([
    ...(listed ?? []).map(({ id }) => id).toReversed(),
    ...visited.map(({ id }) => id),
  ])
  const entries = [...ids].map((id): TerminalEntry => {
    const terminal = known[id]
    const title = titles[id] || (terminal?.command[0]?.split('/').at(-1) ?? 'terminal')
    return { id, title, user: terminal?.user ?? 'agent', isOver: over.has(id) }
  })

  const show = (id: string | undefined, replace = false) =>
    void navigate({
      to: '/m/$machineId/terminal',
      params: { machineId: record.id },
      search: id === undefined ? {} : { terminal: id },
      replace,
    })

  // Without a name in the address: the newest terminal that no other window shows.
  const proposedId = (listed?.find(({ attached }) => !attached) ?? listed?.[0])?.id
  const isUndecided = shownId === undefined && proposedId !== undefined
  useEffect(() => {
    if (!isUndecided) return
    void navigate({
      to: '/m/$machineId/terminal',
      params: { machineId: record.id },
      search: { terminal: proposedId },
      replace: true,
    })
  }, [isUndecided, navigate, proposedId, record.id])

  const leave = (id: string) => {
    const at = entries.findIndex((one) => one.id === id)
    const next = entries[at + 1] ?? entries[at - 1]
    setVisited((old) => old.filter((one) => one.id !== id))
    forgetTerminal(record.id, id)
    if (id !== shownId) return
    setLeaving(id)
    show(next?.id, true)
  }
  return {
    query,
    entries,
    visited,
    shownId,
    show,
    setTitle: (id: string, title: string) => setTitles((old) => ({ ...old, [id]: title })),
    setStatus: (id: string, { is }: TerminalStatus) => {
      const isOver = is === 'exited'
      if (isOver) forgetTerminal(record.id, id)
      setOver((old) => (old.has(id) === isOver ? old : withMember(old, id, isOver)))
    },
    /** Shows a terminal that this page has just opened, in place of one that has ended. */
    showNew: (id: string, inPlaceOf?: string) => {
      setLeaving(inPlaceOf)
      setVisited((old) => {
        const others = old.filter((one) => one.id !== inPlaceOf)
        // The list may have named it before the call was answered, and it is shown already.
        return others.some((one) => one.id === id) ? others : [...others, { id, isNew: true }]
      })
      show(id, inPlaceOf !== undefined)
    },
    close: async (entry: TerminalEntry) => {
      if (!entry.isOver) await killTerminal(record.id, entry.id)
      leave(entry.id)
    },
  }
}

function withMember(old: ReadonlySet<string>, id: string, isMember: boolean): ReadonlySet<string> {
  const next = new Set(old)
  if (isMember) next.add(id)
  else next.delete(id)
  return next
}
