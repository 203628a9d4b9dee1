import { Autocomplete } from '@base-ui/react/autocomplete'
import { Dialog } from '@base-ui/react/dialog'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useDeferredValue, useState } from 'react'
import { computer } from '../api/client.ts'
import { pageGroups } from '../layout/navigation.ts'
import { activeShortcuts } from './shortcuts.ts'

type Entry = { readonly label: string; readonly kind: string; readonly run: () => void }

/** Finds pages, machines and the actions of the page by their names. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const prefix = useDeferredValue(text.trim().toLowerCase())
  const { data: machines = [] } = useQuery({
    queryKey: ['palette', prefix],
    queryFn: async ({ signal }) => {
      const page = await computer.machines.list({
        limit: 10,
        signal,
        ...(prefix && { search: prefix }),
      })
      return page.data.map(({ id, name }) => ({ id, name }))
    },
    placeholderData: (before) => before,
  })
  const entries: Entry[] = [
    ...machines.map(({ id, name }) => ({
      label: name,
      kind: 'Machine',
      run: () => void navigate({ to: '/m/$machineId', params: { machineId: id } }),
    })),
    ...pageGroups
      .flatMap(({ pages }) => pages)
      .map(({ to, label }) => ({ label, kind: 'Page', run: () => void navigate({ to }) })),
    ...activeShortcuts()
      .filter(({ keys }) => !keys.startsWith('g ') && keys.length === 1)
      .map(({ label, run }) => ({ label, kind: 'Action', run })),
  ]
  const choose = (entry: Entry) => {
    onClose()
    entry.run()
  }
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-shade" />
        <Dialog.Popup
          aria-label="Search"
          className="fixed top-[12vh] left-1/2 z-40 w-[min(36rem,calc(100vw-2rem))] -translate-x-1/2 overflow-hidden rounded-xl border border-line bg-raised shadow-pop outline-none"
        >
          <Autocomplete.Root
            open
            inline
            items={entries}
            itemToStringValue={(entry: Entry) => entry.label}
            value={text}
            onValueChange={setText}
            autoHighlight="always"
          >
            <Autocomplete.Input
              aria-label="Search pages, machines and actions"
              placeholder="Search pages, machines and actions"
              className="h-11 w-full border-b border-line bg-transparent px-4 outline-none"
            />
            <Autocomplete.Empty className="p-4 text-muted empty:hidden">
              Nothing has this name.
            </Autocomplete.Empty>
            <Autocomplete.List className="max-h-[50vh] overflow-y-auto p-1">
              {(entry: Entry) => (
                <Autocomplete.Item
                  key={`${entry.kind} ${entry.label}`}
                  value={entry}
                  onClick={() => choose(entry)}
                  className="flex cursor-pointer items-center justify-between gap-3 rounded-md px-3 py-2 outline-none data-[highlighted]:bg-hover"
                >
                  <span className="truncate">{entry.label}</span>
                  <span className="text-xs text-muted">{entry.kind}</span>
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
          </Autocomplete.Root>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
