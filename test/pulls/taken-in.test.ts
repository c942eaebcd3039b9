/** A move of a branch lists its new commits once, for any number of pull requests. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { History } from '../../gitstore/history/history.ts'
import type { Repo } from '../../gitstore/repo.ts'
import { findBroughtInCommits } from '../../server/domain/ledger/moved-branches.ts'
import { environment } from '../support/git.ts'

describe('what a move of a branch brought in', () => {
  let repo: Repo
  let before = ''

  beforeEach(() => {
    repo = { dir: join(mkdtempSync(join(tmpdir(), 'grove-taken-')), 'a.git') }
    const git = (...args: string[]) =>
      execFileSync('git', args, { env: environment(repo.dir), stdio: ['ignore', 'pipe', 'pipe'] })
        .toString()
        .trim()
    execFileSync('git', ['init', '-q', '--bare', repo.dir])
    before = git('commit-tree', git('mktree', '--missing', '-z'), '-m', 'Before')
  })
  afterEach(() => rmSync(join(repo.dir, '..'), { recursive: true, force: true }))

  const heads = new Set(Array.from({ length: 600 }, (_, at) => String(at).padStart(40, '0')))
  const brought = [...heads].slice(0, 3)

  /** A history that counts its questions. */
  function asked(ahead: number) {
    const questions: string[] = []
    const told = {
      divergence: async () => ({ ahead, behind: 0 }),
      between: async () => {
        questions.push('between')
        return [...brought, 'f'.repeat(40)]
      },
      contains: async (tip: string, head: string) => {
        questions.push('contains')
        return tip !== before && brought.includes(head)
      },
    }
    return { questions, history: told as unknown as History } // nothing else is asked
  }

  it('is one list of its commits', async () => {
    const { questions, history } = asked(2_000)
    expect(await findBroughtInCommits({ repo, history }, before, 'a'.repeat(40), heads)).to.deep.equal(new Set(brought))
    expect(questions).to.deep.equal(['between'])
  })

  it('is queried for each head if the list would be longer', async () => {
    const { questions, history } = asked(2_001)
    expect(await findBroughtInCommits({ repo, history }, before, 'a'.repeat(40), heads)).to.deep.equal(new Set(brought))
    expect(questions).to.have.length(600 + brought.length)
  })

  it('is empty, without a query, if nobody waits for it', async () => {
    const { questions, history } = asked(1)
    expect(await findBroughtInCommits({ repo, history }, before, 'a'.repeat(40), new Set())).to.deep.equal(new Set())
    expect(questions).to.deep.equal([])
  })
})
