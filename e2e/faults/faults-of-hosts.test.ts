import { soakSize } from '../../scripts/soak/sizes.ts'
import { testStorm } from './test-storm.ts'

/* Two hosts, so two of each process but the database, and each call goes to the API of the other host than the last. */

testStorm('hosts', { hosts: 2, ...soakSize('hosts') })
