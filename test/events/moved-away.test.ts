/** A node whose repository moves to the trash while its events are recorded. */

import { existsSync, renameSync } from 'node:fs'
import { expect } from 'chai'
import { listRefs, readRef } from '../../gitstore/refs/refs.ts'
import { readRecorded, recordNode } from '../../server/domain/event-log/record.ts'
import { historyOf } from '../../server/domain/history.ts'
import { newNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'
import { eventsSince, readLog } from './log-rows.ts'

describe('a node that moves away while it is read', () => {
  const { grove, ann } = useWorld({ ann: 'owner' }, { sweeps: false })

  it('is recorded as deleted', async () => {
    const node = await newNode(grove, ann, { title: 'Whales' })
    const { deps } = grove
    const repo = { dir: node.git.dir }
    const seq = readLog(grove, ann.org).at(-1)?.seq ?? 0
    node.git.point('main', node.git.commit({ files: { 'content.md': 'Sing.\n' }, parents: [node.git.head()] }))
    const before = await readRecorded(deps, ann.org, node.id)
    const ledger = readRef(repo, 'refs/grove/ledger') ?? ''
    const refs = { ledger, branches: listRefs(repo, 'refs/heads/', 'afresh') }
    const away = `${node.git.dir}.away`
    await recordNode(deps, { org_id: ann.org, node_id: node.id }, { before, refs }, (id, some) => {
      // The refs are read, and the objects are not.
      if (existsSync(repo.dir)) renameSync(repo.dir, away)
      return historyOf(deps, id, some)
    }).finally(() => renameSync(away, repo.dir))
    expect(eventsSince(grove, ann.org, seq).map(({ type }) => type)).to.deep.equal(['node.deleted'])
  })
})
