import type { TerminalUser } from '../../../api/terminals.ts'
import { Button } from '../../../ui/Button.tsx'
import { cx } from '../../../ui/cx.ts'
import { ChevronDown, Plus } from '../../../ui/icons.ts'
import { Menu, MenuItem } from '../../../ui/Menu.tsx'

export function NewTerminal({
  busy,
  disabledReason,
  isFirst = false,
  onOpen,
}: {
  readonly busy: boolean
  readonly disabledReason: string | undefined
  /** It is the only action of the page, so a phone shows its name too. */
  readonly isFirst?: boolean | undefined
  readonly onOpen: (user: TerminalUser) => void
}) {
  return (
    <div className="flex shrink-0">
      <Button
        icon={<Plus aria-hidden />}
        busy={busy}
        disabledReason={disabledReason}
        onClick={() => onOpen('agent')}
        look={isFirst ? 'primary' : 'secondary'}
        className={cx('rounded-r-none', isFirst && 'border-r-raised!')}
      >
        <span className={isFirst ? undefined : 'max-sm:sr-only'}>New terminal</span>
      </Button>
      <Menu
        trigger={
          <Button
            label="New terminal as another user"
            icon={<ChevronDown />}
            look={isFirst ? 'primary' : 'secondary'}
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
