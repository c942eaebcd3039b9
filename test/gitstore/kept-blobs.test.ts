/** Small blobs that are kept in memory. */

import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { readKeptBlob } from '../../gitstore/objects/kept-blobs.ts'
import { newObjectBatch } from '../../gitstore/objects/object-batch.ts'
import { readBlob } from '../../gitstore/objects/objects.ts'
import { looseFile } from '../support/git.ts'
import { bareRepo, refusal, useFolder } from './bare-repo.ts'

describe('gitstore: kept blobs', () => {
  useFolder()

  /** Stores a blob, reads it, and removes its file. */
  async function readThenRemove(bytes: Buffer) {
    const { repo } = await bareRepo()
    const draft = newObjectBatch(repo)
    const oid = await draft.blob(bytes)
    await draft.save()
    expect((await readKeptBlob(repo, oid)).equals(bytes)).to.equal(true)
    await rm(looseFile(repo, oid))
    return { repo, oid }
  }

  it('are read once up to 16 KiB, but never by who asks for the object itself', async () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from('Whales'), randomBytes(16_384)]) {
      const { repo, oid } = await readThenRemove(bytes)
      expect((await readKeptBlob(repo, oid)).equals(bytes)).to.equal(true)
      expect(await refusal(readBlob(repo, oid))).to.have.property('code', 'object_missing')
    }
  })

  it('are not the larger ones', async () => {
    const { repo, oid } = await readThenRemove(randomBytes(16_385))
    expect(await refusal(readKeptBlob(repo, oid))).to.have.property('code', 'object_missing')
  })

  it('are refused above the limit of the reader', async () => {
    const { repo } = await bareRepo()
    const draft = newObjectBatch(repo)
    const oid = await draft.blob(Buffer.from('Whales'))
    await draft.save()
    await readKeptBlob(repo, oid)
    expect(await refusal(readKeptBlob(repo, oid, 5))).to.have.property('code', 'limit_exceeded')
  })

  it('are of one repository, and not of a draft', async () => {
    const [one, other] = [await bareRepo(), await bareRepo()]
    const draft = newObjectBatch(one.repo)
    const oid = await draft.blob(Buffer.from('Whales'))
    expect((await readKeptBlob(draft.repo, oid)).toString()).to.equal('Whales')
    expect(await refusal(readKeptBlob(one.repo, oid))).to.have.property('code', 'object_missing')
    await draft.save()
    expect((await readKeptBlob(one.repo, oid)).toString()).to.equal('Whales')
    expect(await refusal(readKeptBlob(other.repo, oid))).to.have.property('code', 'object_missing')
  })
})
