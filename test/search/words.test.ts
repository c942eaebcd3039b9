/** The words of a text: scripts without spaces, identifiers, languages. */

import { expect } from 'chai'
import fc from 'fast-check'
import { ANALYZER_VERSION, allTerms, contentTerms, type Word, wordsOf } from '../../index/search/text/analyzer.ts'
import { loadLanguages, questionTerms, type Share } from '../../index/search/text/languages.ts'
import { anyCharacter } from '../support/any-text.ts'
import { expectLinear } from './linear.ts'

const anyText = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 80 }),
  fc.string({ unit: fc.constantFrom(...'aaBB手の仮ｶﾞ\u3099กั\u0301.’_-0 \ud800\udc00한ខ្ម𠀀'.split('')), maxLength: 80 }),
)

/** Each word as the part of the text that it covers. */
const covered = (text: string) => [...wordsOf(text)].map(({ start, end }) => text.slice(start, end))

/** Throws unless each word covers a part of `text` and none starts before the one before it. */
function checkOffsets(text: string, words: Word[]): void {
  let before = 0
  for (const { start, end, term } of words) {
    expect(start).to.be.at.least(before)
    expect(end).to.be.within(start + 1, text.length)
    expect(term.length).to.be.below(2_000)
    before = start
  }
}

describe('words: scripts without spaces', () => {
  const examples: [text: string, terms: string[]][] = [
    ['日本語の本', ['日本', '本語', '語の', 'の本']],
    ['東京。京都', ['東京', '京都']],
    ['手', ['手']],
    ['2006年', ['2006', '年']],
    ['iPhone手机', ['iphon', '手机']],
    ['x.手.y', ['x', '手', 'y']],
    ['ラーメン', ['ラー', 'ーメ', 'メン']],
    ['ｶﾞｷﾞｸﾞ', ['ガギ', 'ギグ']],
    ['か\u3099き', ['がき']],
    ['𠀀𠀁𠀂', ['𠀀𠀁', '𠀁𠀂']],
    ['ㄅㄆㄇ', ['ㄅㄆ', 'ㄆㄇ']],
    ['ประเทศไทยสวยงาม', ['ประเทศไทย', 'สวยงาม']],
    ['ພາສາລາວ', ['ພາສາ', 'ລາວ']],
  ]
  for (const [text, terms] of examples) {
    it(`reads ${text} as ${terms.join(', ')}`, () => {
      expect(contentTerms(text)).to.deep.equal(terms)
    })
  }

  it('leaves the words of Korean, which has spaces, whole', () => {
    expect(covered('한국어 문장')).to.deep.equal(['한국어', '문장'])
  })

  it('says where a pair stands, though pairs overlap', () => {
    expect(covered('a 日本語 b')).to.deep.equal(['a', '日本', '本語', 'b'])
  })

  it('gives offsets within the text, in order, for whatever text, and the same terms with and without them', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const words = [...wordsOf(text)]
        checkOffsets(text, words)
        expect(allTerms(text)).to.deep.equal(words.map(({ term }) => term))
      }),
      { numRuns: 1_000 },
    )
  })

  it('names its version with that of ICU, which brings the dictionaries', () => {
    expect(ANALYZER_VERSION).to.match(/^\d+-icu\d+/)
  })
})

describe('words: identifiers', () => {
  const examples: [text: string, words: string[]][] = [
    ['searchIndex', ['searchIndex', 'search', 'Index']],
    ['XMLHttpRequest', ['XMLHttpRequest', 'XML', 'Http', 'Request']],
    ['userId', ['userId', 'user', 'Id']],
    ['parseURL2Text', ['parseURL2Text', 'parse', 'URL', 'Text']],
    ['großeStraße', ['großeStraße', 'große', 'Straße']],
    ['node.js', ['node.js', 'node', 'js']],
    ['jane.doe@x.org', ['jane.doe', 'jane', 'doe', 'x.org']],
    ['max_nodes', ['max', 'nodes']],
    ['McDonald', ['McDonald']],
    ['siRNA', ['siRNA']],
    ['U.S.', ['U.S']],
    ['3.14', ['3.14']],
    ['NASA', ['NASA']],
  ]
  for (const [text, words] of examples) {
    it(`reads ${text} as ${words.join(', ')}`, () => {
      expect(covered(text)).to.deep.equal(words)
    })
  }

  it('finds a dotted name by its parts, by itself and without the dot', () => {
    expect(contentTerms('jane.doe')).to.deep.equal([...contentTerms('janedoe'), ...contentTerms('Jane Doe')])
  })
})

describe('words: languages', () => {
  let languageOf: Awaited<ReturnType<typeof loadLanguages>>
  before(async () => {
    languageOf = await loadLanguages()
  })

  const texts: [language: string, text: string][] = [
    ['en', 'The theory of relativity changed how physicists think of space and time.'],
    ['de', 'Die Relativitätstheorie hat verändert, wie Physiker über Raum und Zeit denken.'],
    ['fr', 'La théorie de la relativité a changé la façon dont les physiciens pensent le temps.'],
    ['es', 'La teoría de la relatividad cambió la manera en que los físicos piensan el tiempo.'],
    ['ru', 'Теория относительности изменила представления физиков о пространстве и времени.'],
    ['tr', 'Görelilik kuramı fizikçilerin uzay ve zaman hakkındaki düşüncelerini değiştirdi.'],
    ['en', 'Permute (Algorithm 86)'],
    ['en', '日本語の本を読みます。'],
    ['en', 'const index = createSearchIndex()'],
    ['en', ''],
  ]
  for (const [language, text] of texts) {
    it(`takes "${text}" as ${language}`, () => {
      expect(languageOf(text)).to.equal(language)
    })
  }

  it('takes whatever text as some language', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(languageOf(text)).to.match(/^[a-z]{2}$/)
      }),
    )
  })

  it('finds the forms of a German word by its stem and drops German stop words', () => {
    expect(contentTerms('Die Häuser und der Häusern', 'de')).to.deep.equal(['haus', 'haus'])
  })

  const shares = (...of: [Share['language'], number][]): Share[] => of.map(([language, share]) => ({ language, share }))
  const stems = (text: string, language: Share['language'], documents: Share[]) =>
    questionTerms(text, language, documents).map((word) => word.stems.map(({ term, weight }) => [term, weight]))

  it('asks by the stem of its own language and with weight 0.3 by those of 5 % of the documents', () => {
    expect(stems('Verteidigungen', 'de', shares(['en', 0.9], ['de', 0.06], ['fr', 0.04]))).to.deep.equal([
      [
        ['verteid', 1],
        ['verteidigungen', 0.3],
      ],
    ])
  })

  it('asks in the language of most documents when next to none are in its own', () => {
    expect(stems('theories', 'de', shares(['en', 0.97], ['de', 0.03]))).to.deep.equal([[['theori', 1]]])
  })

  it('asks in its own language where no document has one', () => {
    expect(stems('theories', 'en', [])).to.deep.equal([[['theori', 1]]])
  })

  it('gives the words of any question, in any language, as the analyzer reads them', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const words = questionTerms(text, 'de', shares(['en', 0.5], ['de', 0.3], ['ru', 0.2]))
        checkOffsets(text, words)
        expect(words.map(({ term }) => term)).to.deep.equal(allTerms(text, 'de'))
        expect(words.every(({ term, stems: [first] }) => first?.term === term)).to.equal(true)
      }),
    )
  })
})

describe('words: whatever the text, time is linear', () => {
  const takeAll = (text: string) => {
    for (const _ of wordsOf(text));
  }
  const hostile: [name: string, part: string][] = [
    ['Han characters', '漢字仮名'],
    ['Han characters beyond the first plane', '𠀀𠀁'],
    ['Thai without spaces', 'ประเทศไทยที่'],
    ['Thai vowels alone', 'ก\u0e31'],
    ['combining marks', '\u0301'],
    ['marks of kana', 'か\u3099\u3099\u3099'],
    ['lone surrogates', '\ud800'],
    ['letters of two scripts in turn', 'a手'],
    ['one long word', 'ab'],
    ['one long joined word', "a.b'c"],
    ['one long word in camel case', 'aBcDeF'],
  ]
  for (const [name, part] of hostile) {
    it(`reads ${name}, 240,000 of them, in no more than their share of time`, () => {
      expectLinear(takeAll, part, 240_000)
    })
  }
})
