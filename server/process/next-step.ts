/** The next step of an operator whose service has no account yet. */

import { countAccountsByState } from '../../index/credentials/accounts.ts'
import type { Services } from '../domain/services.ts'

/** Returns the lines to print before the address. Empty: there are accounts, or they cannot be counted. */
export async function nextStepOf({ config, credentials }: Pick<Services, 'config' | 'credentials'>): Promise<string> {
  const counted = await countAccountsByState(credentials.read).catch(() => undefined)
  if (counted?.accounts !== 0) return ''
  const isOpen = config.signup === 'open'
  return `There is no account yet. ${isOpen ? 'Create yours at the address below.' : 'Sign-up is not open.'}
Commands with the same environment create an administrator: grove account add EMAIL --admin
In a clone: npm run grove -- account add EMAIL --admin. The data folder is ${config.dataDir}
`
}
