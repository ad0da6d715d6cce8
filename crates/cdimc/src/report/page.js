document.querySelectorAll('.table').forEach(box => {
  const table = box.querySelector('table'), body = table.tBodies[0], rows = [...body.rows];
  const number = text => { const n = parseFloat(text.replace(/^< /, '')); return isNaN(n) ? text : n; };
  let all = rows.length <= 100, search = null;
  const show = () => {
    const query = search ? search.value.toLowerCase() : '';
    let shown = 0;
    [...body.rows].forEach(row => {
      const fits = row.textContent.toLowerCase().includes(query);
      row.hidden = !fits || (!all && !query && shown >= 20);
      if (fits) shown += 1;
    });
  };
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    let sign = 1;
    head.setAttribute('role', 'button'); head.tabIndex = 0; head.title = 'sort';
    const sort = () => {
      const key = row => number(row.cells[column].textContent.trim());
      rows.sort((a, b) => { const x = key(a), y = key(b);
        return sign * (typeof x === typeof y ? (x < y ? -1 : x > y ? 1 : 0) : typeof x === 'number' ? -1 : 1); });
      sign = -sign; rows.forEach(row => body.append(row)); show();
    };
    head.addEventListener('click', sort);
    head.addEventListener('keydown', event => { if (event.key === 'Enter') sort(); });
  });
  if (rows.length > 10) {
    search = document.createElement('input');
    search.type = 'search'; search.placeholder = 'search'; search.setAttribute('aria-label', 'search this table');
    search.addEventListener('input', show); box.prepend(search);
  }
  if (!all) {
    const more = document.createElement('button');
    more.textContent = 'all ' + rows.length + ' rows';
    more.addEventListener('click', () => { all = true; more.remove(); show(); }); box.append(more);
  }
  show();
});
