import { describeTime } from '../accounts/standing.ts'
import type { Notice } from '../accounts/standing-notices.ts'

/* The notices to the owners of an organization whose account is due, on trial or canceled. */

type Text = Pick<Notice, 'subject' | 'body'>

export function paymentIsDue(refusedAt: Date): Text {
  return {
    subject: (name) => `A payment for ${name} is due`,
    body: (name) => [
      `A payment for the organization ${name} has not arrived.`,
      `Until ${describeTime(refusedAt)} nothing changes. From then on, machines can be neither created, started nor forked until it is paid. What runs goes on, and nothing is deleted.`,
    ],
  }
}

export function startingIsRefused(refusedAt: Date): Text {
  return {
    subject: (name) => `From ${describeTime(refusedAt)} on, no machine of ${name} can be started`,
    body: (name) => [
      `A payment for the organization ${name} is still due. From ${describeTime(refusedAt)} on, its machines can be neither created, started nor forked until it is paid.`,
      'What runs goes on, and nothing is deleted. Once it is paid, everything works again at once.',
    ],
  }
}

export function trialEnds(at: Date, followedBy: string | null): Text {
  const after =
    followedBy === null
      ? []
      : [`Then it has the plan ${followedBy}, unless you choose another one.`]
  return {
    subject: (name) => `The trial of ${name} ends at ${describeTime(at)}`,
    body: (name) => [
      `The trial of the organization ${name} ends at ${describeTime(at)}.`,
      ...after,
    ],
  }
}

export type Excess = {
  readonly planId: string
  readonly maximum: number
  readonly machines: readonly { readonly name: string }[]
}

export function machinesWillStop(at: Date, excess: Excess): Text {
  return {
    subject: (name) => `Machines of ${name} will be stopped at ${describeTime(at)}`,
    body: (name) => [
      `The organization ${name} falls to the plan ${excess.planId}, with which ${describeMaximum(excess)}. More run now. At ${describeTime(at)} these will be shut down, the newest ones, unless others have been stopped or a higher plan has been chosen by then:`,
      namesOf(excess),
      'Their disks and snapshots are kept.',
    ],
  }
}

export function machinesStopped(excess: Excess): Text {
  return {
    subject: (name) => `Machines of ${name} were stopped`,
    body: (name) => [
      `With the plan ${excess.planId} of the organization ${name}, ${describeMaximum(excess)}. These were shut down:`,
      namesOf(excess),
      'Their disks and snapshots are kept. They can be started again as others are stopped, or with a higher plan.',
    ],
  }
}

/** Such as `1 machine may run at the same time`. */
export function describeMaximum({ maximum }: Pick<Excess, 'maximum'>): string {
  return `${maximum} ${maximum === 1 ? 'machine' : 'machines'} may run at the same time`
}

function namesOf({ machines }: Excess): string {
  return machines.map(({ name }) => `- ${name}`).join('\n')
}
