import type { Machine } from '@computer/sdk'
import { useRef, useState } from 'react'
import { useDenial } from '../../../api/session.ts'
import { openTerminal, type TerminalUser } from '../../../api/terminals.ts'
import { Confirm } from '../../../ui/Confirm.tsx'
import { Empty } from '../../../ui/Empty.tsx'
import { notifyError } from '../../../ui/notify.ts'
import { QueryView } from '../../../ui/QueryView.tsx'
import { NotRunning } from '../NotRunning.tsx'
import { sdkExample } from '../sdk-example.ts'
import { notRunning, useMachine } from '../use-machine.ts'
import { NewTerminal } from './NewTerminal.tsx'
import { TerminalList } from './TerminalList.tsx'
import { TerminalView } from './TerminalView.tsx'
import { useTerminals, type TerminalEntry } from './use-terminals.ts'

export function Terminals({ machine }: { readonly machine: Machine }) {
  const { record } = useMachine()
  const denied = useDenial('machines:control')
  const terminals = useTerminals()
  const { query, entries, visited, shownId } = terminals
  const [isOpening, setOpening] = useState(false)
  const [closing, setClosing] = useState<TerminalEntry>()
  const list = useRef<HTMLUListElement>(null)

  const open = async (user: TerminalUser, inPlaceOf?: string) => {
    if (isOpening) return
    setOpening(true)
    try {
      const { id } = await openTerminal(machine.id, user)
      terminals.showNew(id, inPlaceOf)
    } catch (error) {
      notifyError('No terminal was opened', error)
    } finally {
      setOpening(false)
    }
  }
  const ask = (entry: TerminalEntry) =>
    entry.isOver ? void terminals.close(entry) : setClosing(entry)
  const userOf = (id: string) =>
    entries.find((one) => one.id === id)?.user === 'root' ? 'root' : 'agent'

  const isRunning = record.state === 'running'
  if (entries.length === 0 && !isRunning) return <NotRunning record={record} />
  const newTerminal = (
    <NewTerminal
      busy={isOpening}
      disabledReason={denied ?? notRunning(record)}
      isFirst={entries.length === 0}
      onOpen={(user) => void open(user)}
    />
  )
  return (
    <section aria-label="Terminals" className="flex min-h-0 flex-1 flex-col">
      {entries.length > 0 && (
        <TerminalList
          ref={list}
          machineId={machine.id}
          entries={entries}
          shownId={shownId}
          closeDenied={denied}
          onClose={ask}
        >
          {newTerminal}
        </TerminalList>
      )}
      <div className="relative min-h-80 flex-1">
        {visited.map(({ id, isNew }) => (
          <TerminalView
            key={id}
            machine={machine}
            terminalId={id}
            isNew={isNew}
            isShown={id === shownId}
            onTitle={(title) => terminals.setTitle(id, title)}
            onStatus={(status) => terminals.setStatus(id, status)}
            onAnother={() => void open(userOf(id), id)}
            onLeave={() => list.current?.querySelector<HTMLElement>('[aria-current]')?.focus()}
          />
        ))}
        {shownId === undefined && (
          <QueryView query={query}>
            {(found) =>
              found.length === 0 && <NoTerminal name={machine.name} action={newTerminal} />
            }
          </QueryView>
        )}
      </div>
      {closing && (
        <Confirm
          open
          onOpenChange={() => setClosing(undefined)}
          title="Close this terminal?"
          action="Close it"
          onConfirm={() => terminals.close(closing)}
        >
          <p>
            <bdi className="font-medium text-fg">{closing.title}</bdi> ends with all that runs in
            it. Other terminals go on. To leave it running, just leave this page.
          </p>
        </Confirm>
      )}
    </section>
  )
}

function NoTerminal({ name, action }: { readonly name: string; readonly action: React.ReactNode }) {
  return (
    <Empty
      title="No terminal is open"
      action={action}
      cli={`computer shell ${name}`}
      sdk={sdkExample(
        name,
        'const { id } = await machine.terminals.open()',
        'const terminal = machine.terminals.attach(id)',
        "terminal.write('uptime\\r')",
      )}
    >
      A terminal runs a shell in the machine. It goes on when you leave, and shows its last output
      when you return.
    </Empty>
  )
}
