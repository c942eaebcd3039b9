/** How far an import says that it is. */

import { expect } from 'chai'
import { progressOn } from '../../server/cli/progress.ts'

describe('import: the progress', () => {
  it('draws a bar over itself on a terminal, ten times a second at most', () => {
    const { output, text } = screen({ isTTY: true, columns: 80 })
    let now = 0
    const progress = progressOn(output, 'Reading', () => now)
    for (; now <= 200; now += 20) progress.at(now / 20, 10)
    progress.end()
    expect(text()).to.deep.equal([
      `\r\x1b[KReading ${'░'.repeat(40)}   0 % 0/10`,
      `\r\x1b[KReading ${'█'.repeat(20)}${'░'.repeat(20)}  50 % 5/10`,
      `\r\x1b[KReading ${'█'.repeat(40)} 100 % 10/10`,
      '\n',
    ])
  })

  it('writes a line elsewhere, every 2 s and 10 % at most', () => {
    const { output, text } = screen({})
    let now = 0
    const progress = progressOn(output, 'Reading', () => now)
    for (let done = 0; done <= 1_000; done++, now += 10) progress.at(done, 1_000)
    progress.end()
    expect(text()).to.deep.equal(
      ['10', '30', '50', '70', '90', '100'].map((part) => `Reading ${part} % ${part}0/1000\n`),
    )
  })

  it('says how long the rest will take, again and again if a part takes long', () => {
    const { output, text } = screen({})
    let now = 0
    const progress = progressOn(output, 'Checking', () => now)
    for (let done = 0; done <= 8; done++, now += 50_000) progress.at(done, 5_000)
    expect(text()).to.deep.equal([
      'Checking 0 % 2/5000, about 4165 min left\n',
      'Checking 0 % 4/5000, about 4164 min left\n',
      'Checking 0 % 6/5000, about 4162 min left\n',
      'Checking 0 % 8/5000, about 4160 min left\n',
    ])
    progress.at(4_900, 5_000)
    progress.end()
    expect(text().at(-1)).to.equal('Checking 98 % 4900/5000, about 10 s left\n')
  })

  it('never says more than all', () => {
    const { output, text } = screen({})
    const progress = progressOn(output, 'Reading', () => 0)
    progress.at(88, 76)
    progress.end()
    expect(text()).to.deep.equal(['Reading 100 % 76/76\n'])
  })
})

function screen(terminal: { isTTY?: boolean; columns?: number }) {
  const written: string[] = []
  return { output: { ...terminal, write: (text: string) => written.push(text) }, text: () => written }
}
