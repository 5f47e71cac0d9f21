/** Comfort only: the page pays without it. Groups digits while typing, fills in test cards, sends once. */
export const script = `
document.documentElement.classList.add('scripted');
const form = document.querySelector('form');
const field = (name) => form.elements.namedItem(name);
const digits = (text) => text.replace(/[^0-9]/g, '');
const grouped = (text) => {
  const number = digits(text).slice(0, 19);
  return /^3[47]/.test(number)
    ? number.replace(/^(.{4})(.{0,6})(.*)$/, '$1 $2 $3').trim()
    : number.replace(/(.{4})(?=.)/g, '$1 ');
};
field('number').addEventListener('input', ({ target }) => {
  const atEnd = target.selectionStart === target.value.length;
  if (atEnd) target.value = grouped(target.value);
});
field('expiry').addEventListener('input', ({ target, inputType }) => {
  if (inputType?.startsWith('delete') || target.selectionStart !== target.value.length) return;
  let number = digits(target.value).slice(0, 4);
  if (/^[2-9]/.test(number)) number = '0' + number;
  target.value = number.length >= 2 ? number.slice(0, 2) + ' / ' + number.slice(2) : number;
});
for (const button of document.querySelectorAll('.use')) {
  button.addEventListener('click', () => {
    field('number').value = grouped(button.dataset.number);
    field('expiry').value ||= '12 / ' + String((new Date().getFullYear() + 3) % 100).padStart(2, '0');
    field('cvc').value ||= button.dataset.number.startsWith('3') ? '1234' : '123';
    field('name').value ||= 'Test Payer';
    field('number').focus();
  });
}
form.addEventListener('submit', () => {
  const button = form.querySelector('.submit');
  button.disabled = true;
  button.textContent = 'Processing…';
});
addEventListener('pageshow', (event) => { if (event.persisted) location.reload(); });
document.querySelector('[aria-invalid="true"], .alert')?.focus();
`;
