import { Dialog } from '../ui/Dialog.tsx'
import { activeShortcuts } from './shortcuts.ts'

/** The keys that act on this page. */
export function ShortcutHelp({ onClose }: { readonly onClose: () => void }) {
  const shown = [
    ...activeShortcuts().map(({ keys, label }) => ({ keys, label })),
    { keys: 'Ctrl K', label: 'Search pages, machines and actions' },
  ]
  return (
    <Dialog
      open
      onOpenChange={onClose}
      title="Shortcuts"
      description="They act while no field, screen or terminal has the focus."
    >
      <dl className="grid grid-cols-[1fr_auto] gap-x-4 gap-y-1.5">
        {shown.map(({ keys, label }) => (
          <div key={keys + label} className="contents">
            <dt>{label}</dt>
            <dd>
              {keys.split(' ').map((key) => (
                <kbd
                  key={key}
                  className="ml-1 rounded border border-line bg-sunken px-1.5 py-0.5 text-xs"
                >
                  {key}
                </kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
