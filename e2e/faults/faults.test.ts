import { soakSize } from '../../scripts/soak/sizes.ts'
import { testStorm } from './test-storm.ts'

testStorm('faults', { hosts: 1, ...soakSize('faults') })
