import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AnswerMemory } from './answer-memory.ts'

test('answers get memory in the order of asking, and never more than there is', async () => {
  const memory = new AnswerMemory(100)
  const order: string[] = []
  const take = async (name: string, bytes: number) => {
    const giveBack = await memory.take(bytes)
    order.push(name)
    return giveBack
  }
  const [first, second] = [await take('first', 60), await take('second', 40)]
  const third = take('third', 90)
  const fourth = take('fourth', 10)
  await Promise.resolve()
  assert.deepEqual(order, ['first', 'second'])
  second()
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(order, ['first', 'second'], 'a small answer does not overtake a large one')
  first()
  const [giveThird, giveFourth] = await Promise.all([third, fourth])
  assert.deepEqual(order, ['first', 'second', 'third', 'fourth'])
  giveThird()
  giveFourth()
  await take('fifth', 100)
})
