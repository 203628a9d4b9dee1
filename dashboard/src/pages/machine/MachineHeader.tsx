import type { MachineRecord } from '@computer/sdk'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { startMachine, stopMachine } from '../../api/machine-actions.ts'
import { useDenial } from '../../api/session.ts'
import { formatMemory } from '../../format.ts'
import { StateBadge } from '../../ui/Badge.tsx'
import { Button } from '../../ui/Button.tsx'
import { Play, Power } from '../../ui/icons.ts'
import { Age } from '../../ui/Time.tsx'
import { notifyError } from '../../ui/notify.ts'
import { useRates } from '../sizes/rates.ts'
import { CostSoFar } from './CostSoFar.tsx'
import { useBudgetRefusal } from './MachineBudgets.tsx'
import { MachineMenu } from './MachineMenu.tsx'
import { MachineName } from './MachineName.tsx'
import { whyNot } from './steps.ts'

/** The name, the state and the next step of a machine. */
export function MachineHeader({ machine }: { readonly machine: MachineRecord }) {
  const { name, state, size, cpu, memoryMb, diskGb, startedAt } = machine
  const rate = useRates().get(size)
  return (
    <header className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 pt-4 pb-2 sm:px-6">
      <div className="min-w-0 flex-1">
        <nav aria-label="Path" className="text-xs text-muted">
          <Link to="/" className="hover:underline">
            Machines
          </Link>
        </nav>
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <MachineName key={name} machine={machine} />
          <StateBadge state={state} />
          <span className="text-xs text-muted">
            {size} · {cpu} vCPU · {formatMemory(memoryMb)} · {diskGb} GB disk
            {state === 'running' && startedAt && (
              <>
                {' · up '}
                <Age since={startedAt} />
                {rate && ` · ${rate} an hour`}
              </>
            )}
            <CostSoFar machine={machine} />
          </span>
        </div>
      </div>
      <div className="flex items-center gap-2">
        <PowerButton machine={machine} />
        <MachineMenu machine={machine} size="medium" />
      </div>
      <span role="status" className="sr-only">
        {name} is {state}.
      </span>
    </header>
  )
}

/** Start or stop, whichever the machine can do next. */
function PowerButton({ machine }: { readonly machine: MachineRecord }) {
  const { name, state } = machine
  const denied = useDenial('machines:control')
  const refusal = useBudgetRefusal(machine)
  const [isBusy, setBusy] = useState(false)
  const step =
    state === 'running' || state === 'stopping' || state === 'deleting' ? 'stop' : 'start'
  const run = async () => {
    setBusy(true)
    try {
      await (step === 'start' ? startMachine(machine) : stopMachine(machine))
    } catch (error) {
      notifyError(`${name} could not be ${step === 'start' ? 'started' : 'stopped'}`, error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Button
      look={step === 'start' ? 'primary' : 'secondary'}
      icon={step === 'start' ? <Play aria-hidden /> : <Power aria-hidden />}
      busy={isBusy}
      disabledReason={denied ?? whyNot(step, machine) ?? (step === 'start' ? refusal : undefined)}
      onClick={() => void run()}
    >
      {step === 'start' ? 'Start' : 'Stop'}
    </Button>
  )
}
