/** Ledgers written by hand. */

import type { TestNode } from '../support/node.ts'

export function closedLedger(node: TestNode): string {
  return nextLedger(node, 'close 1', 'closed')
}

export function nextLedger({ git }: TestNode, message: string, status: string): string {
  const path = 'pulls/0/0/1.json'
  const by = { name: 'Somebody', email: 'somebody@example.org' }
  const at = new Date().toISOString()
  const record = { ...JSON.parse(git.say('show', `refs/grove/ledger:${path}`)), status, by, at, ended: { by, at } }
  const ledger = git.say('rev-parse', 'refs/grove/ledger')
  return git.commit({ files: { [path]: JSON.stringify(record) }, parents: [ledger], message })
}
