import { ApiError, type Machine } from '@computer/sdk'
import type { ReactNode } from 'react'
import { useDenial } from '../../../api/session.ts'
import { Button } from '../../../ui/Button.tsx'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { SignInAgain } from '../SignInAgain.tsx'
import { notRunning, useMachine } from '../use-machine.ts'
import type { TerminalStatus } from './session.ts'

/** Below a terminal: why it shows nothing new, and what can be done. Nothing while it is connected. */
export function EndNotice({
  machine,
  status,
  onAnother,
  onAgain,
}: {
  readonly machine: Machine
  readonly status: TerminalStatus
  readonly onAnother: () => void
  readonly onAgain: () => void
}) {
  const { record } = useMachine()
  const denied = useDenial('machines:control')
  const another = (
    <Button
      size="small"
      look="primary"
      disabledReason={denied ?? notRunning(record)}
      onClick={onAnother}
    >
      New terminal
    </Button>
  )
  const again = (
    <Button size="small" onClick={onAgain}>
      Try again
    </Button>
  )
  if (status.is === 'lost')
    return <Bar>The connection is lost. It is tried again; what you type is sent then.</Bar>
  if (status.is === 'exited')
    return (
      <Bar actions={another}>
        The command has ended with exit code {status.exitCode}. Press Enter to open another
        terminal.
      </Bar>
    )
  if (status.is !== 'failed') return null
  const { error } = status
  const code = error instanceof ApiError ? error.code : null
  if (code === 'conflict')
    return (
      <Bar
        actions={
          <>
            {again}
            {another}
          </>
        }
      >
        This terminal is open in another window.
      </Bar>
    )
  if (code === 'not_found')
    return (
      <Bar actions={another}>
        {record.state === 'running'
          ? 'This terminal has ended.'
          : `This terminal has ended, because ${machine.name} has stopped.`}
      </Bar>
    )
  if (code === 'unauthenticated')
    return <Bar actions={<SignInAgain />}>Your sign-in has ended. The terminal keeps running.</Bar>
  if (code === 'permission_denied')
    return (
      <Bar actions={again}>
        {denied ?? 'You may no longer use this terminal.'} The terminal keeps running.
      </Bar>
    )
  return (
    <div className="border-t border-line p-2">
      <ErrorNotice error={error} title="The connection to the terminal has ended.">
        {again}
      </ErrorNotice>
    </div>
  )
}

function Bar({
  children,
  actions,
}: {
  readonly children: ReactNode
  readonly actions?: ReactNode
}) {
  return (
    <div className="flex flex-wrap items-center gap-2 border-t border-line bg-warn-soft px-3 py-1.5">
      <p role="status" className="min-w-0 flex-1 basis-60">
        {children}
      </p>
      {actions}
    </div>
  )
}
