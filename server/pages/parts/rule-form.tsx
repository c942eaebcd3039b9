/** The controls of a rule. The search for a page shows the form again. */

import { type Control, check, choice, hidden, line, text } from '../kit/controls.tsx'
import { roles } from './roles.tsx'

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

/** The id of a page; empty for all pages. Undefined: a page must still be chosen. */
const under: Control<string | undefined> = {
  start: [],
  read: ([id]) => id,
  write: (id) => (id === undefined ? [] : [id]),
  draw: ({ name, of, texts, trouble, options = [] }) => {
    const id = `${of}-${name}-wrong`
    const wrong = trouble?.field === name ? trouble.says : undefined
    return (
      <div
        class="choice-list"
        role="radiogroup"
        aria-labelledby={`${of}-${name}`}
        {...(wrong && { 'aria-invalid': true, 'aria-describedby': id })}
      >
        <strong id={`${of}-${name}`}>Pages</strong>
        {[['', 'All pages'] as const, ...options].map(([value, title]) => (
          <label class="check">
            <input type="radio" name={name} value={value} checked={texts.includes(value)} />
            <span>{title}</span>
          </label>
        ))}
        {wrong && (
          <p class="wrong" id={id} role="alert">
            {wrong}
          </p>
        )}
      </div>
    )
  },
}

/** The title of a page to search for. */
const words: Control<string> = {
  ...line(''),
  draw: ({ name, of, texts: [value] }) => (
    <div class="field">
      <label for={`${of}-${name}`}>Only part of the tree</label>
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

export const ruleControls = {
  rule,
  branches: text(
    'Branches',
    'one pattern a line. * stands for any characters except /, and ** for any characters',
    mostList,
  ),
  under,
  under_words: words,
  under_found: found,
  approvals: line('Approvals', { hint: '0 to 20', type: 'number' }),
  role: choice('Approvals count by', [
    ...roles.map(
      ({ role }) =>
        [role, role === 'owner' ? 'owners' : role === 'reader' ? 'all members' : `${role}s, and roles above`] as const,
    ),
    ['', 'only the members below'] as const,
  ]),
  people: text('Members who count with any role', 'one e-mail address a line', mostList),
  keep: choice('An approval holds', [
    ['same_change', 'as long as the proposal is not changed'],
    ['same_commit', 'only for the commit that was approved'],
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
}
