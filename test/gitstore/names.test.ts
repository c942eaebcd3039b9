/** Names of branches, paths and people, with native git as the oracle. */

import { execFileSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import {
  branchNameProblem,
  cleanPersonName,
  findCaseCollision,
  pathProblem,
  personProblem,
  treePathProblem,
} from '../../gitstore/names.ts'
import { runGit } from '../../gitstore/native.ts'
import { emptyTree } from '../../gitstore/objects/trees.ts'
import { looseFile } from '../support/git.ts'
import { bareRepo, useFolder } from './bare-repo.ts'

describe('gitstore: names', () => {
  useFolder()

  it.deep('lets no branch name through that git refuses', async () => {
    const { say, git } = await bareRepo()
    const unit = fc.constantFrom(
      ...'ab/.@{}~^:?*[\\ -\x01\x7fHEADreflock'.split(''),
      '..',
      '.lock',
      '@{',
      'é',
      '\u{1f333}',
      '\u0085',
    )
    const names = fc
      .sample(fc.string({ unit, maxLength: 12 }), 3000)
      .filter((name) => branchNameProblem(name) === undefined)
    const unique = [...new Set(names)]
    expect(unique.length).to.be.greaterThan(100)
    const script =
      'while IFS= read -r name; do git check-ref-format --branch "$name" >/dev/null 2>&1 || echo "$name"; done'
    expect(execFileSync('sh', ['-c', script], { input: `${unique.join('\n')}\n` }).toString()).to.equal('')
    const oid = say(['commit-tree', emptyTree, '-m', 'x'])
    const separate = unique.filter((name) => !unique.some((other) => other.startsWith(`${name}/`)))
    git(['update-ref', '--stdin', '-z'], separate.map((name) => `create refs/heads/${name}\0${oid}\0`).join(''))
  })

  it('refuses branch names that other tools mistake for something else', () => {
    const bad = [
      '',
      '-x',
      'HEAD',
      '@',
      'a..b',
      'a@{b',
      'a b',
      'a\tb',
      'a~',
      'a^',
      'a:b',
      'a?',
      'a*',
      'a[',
      'a\\b',
      '/a',
      'a/',
    ]
    bad.push(
      'a//b',
      '.a',
      'a/.b',
      'a.lock',
      'a.lock/b',
      'a.',
      'refs/heads/a',
      'a'.repeat(40),
      'F'.repeat(64),
      '\ud800',
      'a\u0085',
    )
    bad.push('é'.repeat(101))
    expect(bad.filter((name) => branchNameProblem(name) === undefined)).to.deep.equal([])
    const good = ['main', 'feature/a-b', 'é', '@a', 'a@b', 'head', 'é'.repeat(100), 'a'.repeat(41), 'a.b', 'ref/s']
    expect(good.filter((name) => branchNameProblem(name) !== undefined)).to.deep.equal([])
  })

  it.deep('refuses every tree entry that git fsck refuses', async () => {
    const { say, repo } = await bareRepo()
    const blob = say(['hash-object', '-w', '--stdin'], `${'x'.repeat(3000)}\n`)
    const stem = [
      '.',
      '..',
      '.git',
      '.GiT',
      '.g\u200cit',
      'git~1',
      'GIT~1',
      'git~2',
      '.gitmodules',
      '.gitattributes',
      'gitmod~1',
      'gi7eba~1',
    ]
    stem.push(
      'gitatt~4',
      'gi7d29~9',
      'gi7d2~10',
      'g~123456',
      '.git\u0301',
      'a',
      '\ufeff.gitModules',
      '.gitignore',
      'x\\.git',
      '~1000000',
    )
    const names = stem.flatMap((name) => [
      name,
      ...[' ', '.', ' . ', '::$INDEX_ALLOCATION', ':', 'x', '\u200d'].map((end) => name + end),
    ])
    const missed = []
    for (const name of names.filter((name) => pathProblem(name) === undefined)) {
      const tree = say(['mktree', '-z'], `100644 blob ${blob}\t${name}\0`)
      const { code } = await runGit(repo, ['fsck', '--strict', '--no-dangling', tree])
      if (code !== 0) missed.push(name)
      await rm(looseFile(repo, tree), { force: true })
    }
    expect(missed).to.deep.equal([])
  })

  it('takes ordinary paths and refuses what no file system should meet', () => {
    const bad = [
      '',
      '/a',
      'a/',
      'a//b',
      'a/../b',
      'a/.GIT/b',
      'a\0',
      'a\nb',
      'a\\b',
      '\udcff',
      'é'.repeat(128),
      `${'a/'.repeat(64)}a`,
    ]
    bad.push(`${`${'a'.repeat(200)}/`.repeat(6)}a`)
    expect(bad.filter((path) => treePathProblem(path) === undefined)).to.deep.equal([])
    const good = [
      'a',
      'content.md',
      'parents/a.json',
      '.github/x',
      '.gitignore',
      'a b',
      'é/\u{1f333}',
      `${'a/'.repeat(63)}a`,
      '...',
      '.gitx',
    ]
    expect(good.filter((path) => pathProblem(path) !== undefined)).to.deep.equal([])
    expect(treePathProblem('.gitmodules')).to.equal(undefined)
    expect(pathProblem('a/.gitmodules')).to.be.a('string')
  })

  it('cleans names of people as git does, and finds names that collide', () => {
    expect(cleanPersonName(' "Ann <Lee>\r\n Jr." ')).to.equal('Ann Lee Jr')
    expect(cleanPersonName(' <.> ')).to.equal('unknown')
    expect(personProblem({ name: 'Ann', email: 'a@b' })).to.equal(undefined)
    for (const name of ['', '...', 'a\nb', 'a<b', '\ud800', 'a'.repeat(256)])
      expect(personProblem({ name, email: 'a@b' })).to.be.a('string')
    const every = new Set(['Straße', 'STRASSE', 'É', 'a'])
    expect(findCaseCollision(['Straße', 'b', 'STRASSE'], every)).to.deep.equal(['Straße', 'STRASSE'])
    expect(findCaseCollision(['e\u0301', 'É'], every)).to.deep.equal(['e\u0301', 'É'])
    expect(findCaseCollision(['a', 'b', 'a'], every)).to.equal(undefined)
    expect(findCaseCollision(['A', 'a', 'b'], new Set(['b']))).to.equal(undefined)
  })
})
