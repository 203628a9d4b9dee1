import type { MachineRecord } from '@computer/sdk'
import { useState } from 'react'
import { startMachine } from '../../api/machine-actions.ts'
import { useDenial } from '../../api/session.ts'
import { Button } from '../../ui/Button.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { Play } from '../../ui/icons.ts'
import { useBudgetRefusal } from './MachineBudgets.tsx'
import { notRunning } from './use-machine.ts'

/** In place of what needs a running machine: why it is not there, and the button that starts it. */
export function NotRunning({ record }: { readonly record: MachineRecord }) {
  const denied = useDenial('machines:control')
  const refusal = useBudgetRefusal(record)
  const [error, setError] = useState<unknown>()
  const canStart = record.state === 'stopped' || record.state === 'error'
  return (
    <div className="flex flex-col items-center gap-3 px-4 py-16 text-center">
      <p role="status" className="text-muted">
        {notRunning(record)}
      </p>
      {canStart && (
        <Button
          look="primary"
          icon={<Play aria-hidden />}
          disabledReason={denied ?? refusal}
          onClick={() => void startMachine(record).then(() => setError(undefined), setError)}
        >
          Start
        </Button>
      )}
      {error !== undefined && <ErrorNotice error={error} />}
    </div>
  )
}
