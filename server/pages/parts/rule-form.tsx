/** The controls of a rule. The search for a page shows the form again. */

import { type Control, check, choice, hidden, line, more, node, question, text } from '../kit/controls.tsx'
import { approvers } from '../text/rule-words.ts'

/** Maximum characters of a list. */
const mostList = 10_000

/** The key of the rule, and the button that the Enter key presses. */
const rule: Control<string> = {
  ...hidden,
  draw: (shown) => (
    <>
      {hidden.draw(shown)}
      <button class="vh" type="submit" name="act" value="save" tabIndex={-1} aria-hidden="true">
        Save rule
      </button>
    </>
  ),
}

/** The title of a page to search for. */
const words: Control<string> = {
  ...line(''),
  draw: ({ name, of, texts: [value] }) => (
    <div class="field">
      <label for={`${of}-${name}`}>or of the pages below</label>
      <span class="line">
        <input id={`${of}-${name}`} type="search" {...{ name, value }} maxLength={500} placeholder="Title of a page" />
        <input type="hidden" name="under_found" value={value} />
        <button class="btn" type="submit" name="act" value="find" formNoValidate>
          Search
        </button>
      </span>
    </div>
  ),
}

/** The words by which the listed pages were found. */
const found: Control<string> = { start: [], read: ([text = '']) => text, write: () => [], draw: () => <></> }

/** One sentence, and more options. */
export const ruleControls = {
  rule,
  under: node('Every change of', 'all pages'),
  under_words: words,
  under_found: found,
  approvals: line(
    <>
      needs <span class="vh">this number of approvals</span>
    </>,
    { type: 'number', start: '1' },
  ),
  role: choice('approvals by', [...approvers, ['', 'only these people']], { start: 'editor' }),
  people: text('or by these people', 'one e-mail address a line', mostList),
  ...more({
    branches: text(
      'Branches',
      'one pattern a line. * stands for any characters except /, and ** for any characters',
      mostList,
      'main',
    ),
    keep: choice('An approval holds', [
      ['same_change', 'as long as the proposal is not changed'],
      ['same_commit', 'only for the version that was approved'],
    ]),
    checks: text(
      'Checks',
      'one name a line, such as links: ci@example.org. After a colon, the e-mail address of the member or bot that reports it. Without one, the first report counts, by any editor but the authors',
      mostList,
    ),
    resolved: check('All threads must be resolved'),
    merge: choice('Merged by', [
      ['editor', 'editors, maintainers and owners'],
      ['maintainer', 'maintainers and owners'],
      ['owner', 'owners'],
    ]),
    override: choice('If a proposal does not satisfy the rule', [
      ['owner', 'an owner may merge it, with a reason'],
      ['nobody', 'nobody may merge it'],
    ]),
    pages: choice('To create, move in, delete or restore a page', [
      ['all', 'a proposal is needed'],
      ['existing', 'no proposal is needed'],
    ]),
  }),
}

export const editorsMay = [
  [false, 'Publish', 'Changes are published at once, unless another rule asks for a review.'],
  [true, 'Only propose', 'Every change of all pages needs a proposal. Maintainers merge.'],
] as const

/** The rule of the general settings. */
export const proposalsOnly = question('May editors publish, or only propose?', editorsMay)

/** Said where no rule is for new pages. */
export const notForNewPages = 'A new page is published at once.'
