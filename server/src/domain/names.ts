import { randomInt } from 'node:crypto'

const adjectives =
  'able amber bold brave bright brisk calm clear clever cosy crisp eager early fair fond free fresh gentle glad golden grand green happy hardy honest humble jolly keen kind lively lucky mellow merry mild neat noble patient plain polite proud quick quiet ready royal sharp shiny silver simple smart smooth snug solid spry steady still sunny swift tidy true warm wise witty'.split(
    ' ',
  )
const nouns =
  'acorn badger beaver birch bison brook cedar clover comet coral crane creek dolphin eagle elm falcon fern finch fjord forest fox garden glacier harbor hare hawk hazel heron hill island ivy jay juniper lake lark laurel lemur lily linden lynx maple marten meadow moon moss oak olive orchid osprey otter owl panda pebble pine plover poppy quail raven reef river robin rowan seal sparrow spruce star stone swan thistle tiger trout tulip valley walnut willow wren yew'.split(
    ' ',
  )

/** A name that a person can say over the phone: "quiet-otter-42". */
export function generateMachineName(): string {
  const pick = (words: readonly string[]) => words[randomInt(words.length)]!
  return `${pick(adjectives)}-${pick(nouns)}-${randomInt(10, 100)}`
}

/** Names a snapshot by its time: "snapshot 2026-01-31 12:30:59". */
export function generateSnapshotName(what: 'snapshot' | 'stopped', at = new Date()): string {
  return `${what} ${at.toISOString().slice(0, 19).replace('T', ' ')}`
}
