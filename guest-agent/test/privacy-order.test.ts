import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SessionId } from '@computer/contract'
import { createRandom, type Random } from '../../e2e/harness/random.ts'
import { Privacy } from '../src/desktop/privacy.ts'
import { AgentError } from '../src/errors.ts'
import { Fence } from '../src/fence.ts'

const sessions = ['ses_00000000000000000000000one', 'ses_00000000000000000000000two'] as SessionId[]
const everybody = [undefined, ...sessions]
const rounds = 300

test('in any order of looks and fences, nobody is answered what was private to another', async () => {
  for (let seed = 1; seed <= rounds; seed++) {
    const { wrong, answered } = await play(createRandom(seed))
    assert.deepEqual(wrong, [], `seed ${seed}`)
    assert.ok(answered > 0, `seed ${seed}`)
  }
})

/**
 * The screen shows a secret from the answer of a private fence on, and until its holding is cleaned up after. Looks
 * read it at some moment between their begin and their end.
 */
async function play(random: Random) {
  const fence = new Fence()
  const privacy = new Privacy()
  const wrong: string[] = []
  let [screen, answered]: [string, number] = ['public', 0]
  /** The session to which the screen is private, by a fence that was answered. */
  let told: SessionId | null = null

  const hop = async () => {
    for (let left = random.below(4); left > 0; left--) {
      if (random.below(2) === 0) await nextTurn()
      else await Promise.resolve()
    }
  }
  const look = async (viewer: SessionId | undefined) => {
    const { signal } = new AbortController()
    try {
      const seen = await privacy.look(viewer, signal, async () => {
        await hop()
        const shown = screen
        await hop()
        return shown
      })
      // On its way to the stream.
      for (let left = 8; left > 0; left--) await Promise.resolve()
      answered += 1
      if (seen !== 'public' && seen !== viewer) wrong.push(`${viewer} saw what ${seen} did`)
      if (told !== null && told !== viewer)
        wrong.push(`${viewer} was answered after ${told} had it`)
    } catch (error) {
      if (!(error instanceof AgentError) || error.reason !== 'screen_private') throw error
    }
  }
  const hold = async (number: number) => {
    const to = random.pick([null, null, ...sessions])
    const release = async () => {
      await hop()
      await privacy.settle(async () => {
        await hop()
        screen = 'public'
        return true
      })
    }
    const begin = (released: Promise<void>) => {
      told = null
      privacy.begin(to, released)
    }
    await fence.raise({ fence: number, since: number }, release, begin)
    // Another may have begun meanwhile.
    if (fence.current !== number || to === null) return
    told = to
    screen = to
  }

  const work: Promise<void>[] = []
  for (let step = 1; step <= 40; step++) {
    work.push(random.below(4) === 0 ? hold(step) : look(random.pick(everybody)))
    await hop()
  }
  await Promise.all(work)
  return { wrong, answered }
}
