import type { MachineRecord } from '@computer/sdk'
import { useCallback, useState } from 'react'

export type Selection = {
  readonly ids: ReadonlySet<string>
  readonly toggle: (id: string) => void
  /** Selects all of these, or none of them if all are selected. */
  readonly toggleAll: (machines: readonly MachineRecord[]) => void
  readonly clear: () => void
}

/** Kept while filters and pages change, so that a bulk action acts on what the person chose. */
export function useSelection(): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const toggle = useCallback((id: string) => {
    setIds((before) => {
      const next = new Set(before)
      if (!next.delete(id)) next.add(id)
      return next
    })
  }, [])
  const toggleAll = useCallback((machines: readonly MachineRecord[]) => {
    setIds((before) => {
      const next = new Set(before)
      const areAll = machines.every(({ id }) => before.has(id))
      for (const { id } of machines) {
        if (areAll) next.delete(id)
        else next.add(id)
      }
      return next
    })
  }, [])
  const clear = useCallback(() => setIds(new Set()), [])
  return { ids, toggle, toggleAll, clear }
}
