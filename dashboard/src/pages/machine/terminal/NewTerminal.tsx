import type { TerminalUser } from '../../../api/terminals.ts'
import { Button } from '../../../ui/Button.tsx'
import { ChevronDown, Plus } from '../../../ui/icons.ts'
import { Menu, MenuItem } from '../../../ui/Menu.tsx'

export function NewTerminal({
  busy,
  disabledReason,
  onOpen,
}: {
  readonly busy: boolean
  readonly disabledReason: string | undefined
  readonly onOpen: (user: TerminalUser) => void
}) {
  return (
    <div className="flex shrink-0">
      <Button
        icon={<Plus aria-hidden />}
        busy={busy}
        disabledReason={disabledReason}
        onClick={() => onOpen('agent')}
        className="rounded-r-none"
      >
        <span className="max-sm:sr-only">New terminal</span>
      </Button>
      <Menu
        trigger={
          <Button
            label="New terminal as another user"
            icon={<ChevronDown />}
            className="rounded-l-none border-l-0"
          />
        }
      >
        <MenuItem disabledReason={disabledReason} onSelect={() => onOpen('agent')}>
          As agent, the user of the desktop
        </MenuItem>
        <MenuItem disabledReason={disabledReason} onSelect={() => onOpen('root')}>
          As root
        </MenuItem>
      </Menu>
    </div>
  )
}
