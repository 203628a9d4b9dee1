import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useShortcut } from '../../keyboard/shortcuts.ts'
import { Button } from '../../ui/Button.tsx'
import { LayoutGrid, List, Search } from '../../ui/icons.ts'
import { Select } from '../../ui/Select.tsx'
import { stateWords } from '../../words.ts'
import type { MachinesSearch } from '../../routes.tsx'
import { TemplateSelect } from './TemplateSelect.tsx'

const typingMs = 150

/** Undefined takes a part out of the address. */
type Change = { readonly [K in keyof MachinesSearch]?: MachinesSearch[K] | undefined }

/** The filter and the view. Both are in the address, so that a link shows the same. */
export function Filters({ view }: { readonly view: 'grid' | 'list' }) {
  const search = useSearch({ from: '/app/' })
  const navigate = useNavigate({ from: '/' })
  const change = (next: Change) =>
    void navigate({ search: (before) => withoutEmpty({ ...before, ...next }), replace: true })
  return (
    <div className="mb-4 flex flex-wrap items-center gap-2">
      <SearchField
        value={search.metadata ?? search.search ?? ''}
        onChange={(text) =>
          change(
            text.includes('=')
              ? { metadata: text, search: undefined }
              : { search: text, metadata: undefined },
          )
        }
      />
      <Select
        label="State"
        hideLabel
        value={search.state ?? 'all'}
        onChange={(state) => change({ state: state === 'all' ? undefined : state })}
        choices={[
          { value: 'all', label: 'Every state' },
          ...Object.entries(stateWords).map(([value, label]) => ({
            value: value as keyof typeof stateWords,
            label,
          })),
        ]}
      />
      <TemplateSelect
        label="Template"
        hideLabel
        none="Every template"
        value={search.template}
        onChange={(template) => change({ template: template?.id })}
      />
      <span className="flex-1" />
      <div role="group" aria-label="View" className="flex gap-1">
        <Button
          look="ghost"
          label="Grid"
          aria-pressed={view === 'grid'}
          className="aria-pressed:bg-hover"
          icon={<LayoutGrid />}
          onClick={() => change({ view: 'grid' })}
        />
        <Button
          look="ghost"
          label="List"
          aria-pressed={view === 'list'}
          className="aria-pressed:bg-hover"
          icon={<List />}
          onClick={() => change({ view: 'list' })}
        />
      </div>
    </div>
  )
}

/** Shows each letter at once and asks the server when the person pauses. */
function SearchField({
  value,
  onChange,
}: {
  readonly value: string
  readonly onChange: (text: string) => void
}) {
  const field = useRef<HTMLInputElement>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useShortcut('/', 'Filter the machines', () => field.current?.focus())
  // The address may change by other means, such as the back button, but never under the person's fingers.
  useEffect(() => {
    const input = field.current!
    if (document.activeElement !== input) input.value = value
  }, [value])
  return (
    <div className="relative w-full sm:w-72">
      <Search className="absolute top-2 left-2.5 size-4 text-muted" aria-hidden />
      <input
        ref={field}
        type="search"
        aria-label="Filter by the beginning of a name, or by metadata as key=value"
        placeholder="Name, or key=value"
        defaultValue={value}
        maxLength={1_100}
        onChange={({ target }) => {
          clearTimeout(timer.current)
          timer.current = setTimeout(() => onChange(target.value.trim()), typingMs)
        }}
        className="h-8 w-full rounded-md border border-line-strong bg-raised pr-2 pl-8 outline-none focus-visible:border-accent-fg focus-visible:ring-2 focus-visible:ring-accent-fg/30"
      />
    </div>
  )
}

function withoutEmpty(search: Change): MachinesSearch {
  return Object.fromEntries(
    Object.entries(search).filter(([, value]) => value !== undefined && value !== ''),
  )
}
