import type { Machine } from '@computer/sdk'
import { useEffect, useEffectEvent, useId, useRef, useState } from 'react'
import { copyText } from '../../../ui/CopyButton.tsx'
import { cx } from '../../../ui/cx.ts'
import { notifyError } from '../../../ui/notify.ts'
import { EndNotice } from './EndNotice.tsx'
import { FindBar } from './FindBar.tsx'
import { KeyRow } from './KeyRow.tsx'
import { keyHints, type KeyAction } from './keys.ts'
import { LinkDialog } from './LinkDialog.tsx'
import { startSession, type TerminalSession, type TerminalStatus } from './session.ts'

/** One terminal. It stays attached while another one is shown. */
export function TerminalView({
  machine,
  terminalId,
  isNew,
  isShown,
  onTitle,
  onStatus,
  onAnother,
  onLeave,
}: {
  readonly machine: Machine
  readonly terminalId: string
  /** Opened by this page. */
  readonly isNew: boolean
  readonly isShown: boolean
  readonly onTitle: (title: string) => void
  readonly onStatus: (status: TerminalStatus) => void
  /** Opens another terminal in place of this one. */
  readonly onAnother: () => void
  /** Gives the focus back to the page. */
  readonly onLeave: () => void
}) {
  const host = useRef<HTMLDivElement>(null)
  const hintId = useId()
  const [attempt, setAttempt] = useState(0)
  const [status, setStatus] = useState<TerminalStatus>({ is: 'connecting' })
  const [session, setSession] = useState<TerminalSession>()
  const [isFinding, setFinding] = useState(false)
  const [link, setLink] = useState<string>()

  const changeStatus = useEffectEvent((next: TerminalStatus) => {
    setStatus(next)
    onStatus(next)
  })
  const changeTitle = useEffectEvent(onTitle)
  const onKey = useEffectEvent((action: KeyAction, started: TerminalSession) => {
    if (action === 'leave') onLeave()
    if (action === 'find') setFinding(true)
    if (action === 'copy') void copy(started)
    if (action === 'another') onAnother()
  })

  useEffect(() => {
    const stopping = new AbortController()
    let started: TerminalSession | undefined
    const events = {
      onStatus: changeStatus,
      onTitle: changeTitle,
      onLink: setLink,
      onKey: (action: KeyAction) => started && onKey(action, started),
    }
    const target = { machine, terminalId, isNew: isNew && attempt === 0 }
    const start = async () => {
      try {
        started = await startSession(host.current!, target, events, stopping.signal)
        started.emulator.terminal.textarea?.setAttribute('aria-describedby', hintId)
        setSession(started)
      } catch (error) {
        if (!stopping.signal.aborted) changeStatus({ is: 'failed', error })
      }
    }
    void start()
    return () => {
      stopping.abort()
      setSession(undefined)
    }
  }, [machine, terminalId, isNew, attempt, hintId])

  useEffect(() => {
    if (isShown) session?.emulator.terminal.focus()
  }, [isShown, session])

  return (
    <div className={cx('absolute inset-0 flex-col', isShown ? 'flex' : 'hidden')}>
      {isFinding && session && (
        <FindBar
          session={session}
          onClose={() => {
            setFinding(false)
            session.emulator.terminal.focus()
          }}
        />
      )}
      <div className="min-h-0 flex-1 bg-raised p-2 pr-0">
        <div
          ref={host}
          data-takes-keys
          data-status={status.is}
          className="h-full overflow-hidden"
        />
      </div>
      <EndNotice
        machine={machine}
        status={status}
        onAnother={onAnother}
        onAgain={() => {
          setStatus({ is: 'connecting' })
          setAttempt(attempt + 1)
        }}
      />
      {session && <KeyRow session={session} />}
      <p
        id={hintId}
        className="hidden gap-4 border-t border-line px-3 py-1 text-xs text-muted md:flex"
      >
        {keyHints.map(([keys, action]) => (
          <span key={keys}>
            <kbd>{keys}</kbd> {action}
          </span>
        ))}
      </p>
      {link !== undefined && <LinkDialog address={link} onClose={() => setLink(undefined)} />}
    </div>
  )
}

async function copy({ emulator: { terminal } }: TerminalSession): Promise<void> {
  const text = terminal.getSelection()
  if (text === '') return
  const isCopied = await copyText(text)
  terminal.focus()
  if (!isCopied) notifyError('The selection was not copied', new Error('The browser refused it.'))
}
